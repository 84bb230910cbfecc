// One thread of another process, stopped for a moment and made to call functions.
#ifndef SONDE_TRACEE_H
#define SONDE_TRACEE_H

#include "inject/safe.h"

#include <sys/types.h>
#include <sys/user.h>

// Room on its stack for what the calls are given.
#define SONDE_ROOM 4096u

typedef struct {
    pid_t pid, tid;
    struct user_regs_struct registers; // as it was found
    uint8_t *extended;                 // the same of its vector registers
    size_t extended_size;
    uint64_t mask; // and of its blocked signals
    uint64_t room; // address of SONDE_ROOM bytes on its stack
    uint64_t stopped_at;
    const sonde_text *texts;
    size_t count;
    bool saved, faulted, gone;
} sonde_tracee;

// Stops the thread. 0 or an errno; EAGAIN if it was about to do something else, or did not stop.
int sonde_tracee_stop(sonde_tracee *tracee);
void sonde_tracee_describe(sonde_tracee *tracee, sonde_stopped *out);
// Keeps everything a call may change and blocks its signals. 0 or an errno.
int sonde_tracee_save(sonde_tracee *tracee);
// Releases it as it was found.
void sonde_tracee_release(sonde_tracee *tracee);

bool sonde_tracee_read(void *tracee, uint64_t at, void *to, size_t size);
bool sonde_tracee_write(sonde_tracee *tracee, uint64_t at, const void *from, size_t size);

// Calls function(a, b, c) in it, after `save`. 0 or an errno: EFAULT if the call ended in a fault,
// EDEADLK if it waited for the loader for too long and was called off, ESRCH if it died.
int sonde_tracee_call(sonde_tracee *tracee, uint64_t function, const uint64_t arguments[3],
                      uint64_t *result);

uint64_t sonde_monotonic(void);

#endif
