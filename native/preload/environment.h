// The variables by which sonde enters a program and what that executes.
#ifndef SONDE_ENVIRONMENT_H
#define SONDE_ENVIRONMENT_H

#include <stdbool.h>

typedef struct {
    char library[4096];                              // of this preload library
    int folder_len;                                  // of the folder in it
    char socket[128];                                // of the session; empty: there is none
    void (*before_exec)(void), (*exec_failed)(void); // the agent's, once it is there
    bool follow;                                     // programs the target executes are entered too
    bool has_runtime;                                // this program is one to record
} sonde_environment_t;

extern sonde_environment_t sonde_environment;

// Remembers the session from the environment; false if there is none. `inside` is any address in
// this library.
bool sonde_environment_read(void *inside);
// Takes our variables out, leaving a preload list of the user's own as it was.
void sonde_environment_remove(void);
// Is this a Go program? They execute others by system calls of their own, past our exec functions.
bool sonde_environment_is_bypassed(void);
// Do programs that this one executes get the variables?
bool sonde_environment_is_passed_on(void);

#endif
