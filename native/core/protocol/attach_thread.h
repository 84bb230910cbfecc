// The agent's thread in a process that sonde attached to. It starts the session, and ends it when
// its connection to the recorder ends, for whatever reason.
#ifndef SONDE_CORE_ATTACH_THREAD_H
#define SONDE_CORE_ATTACH_THREAD_H

#include <stdbool.h>

// What the runtime does; all are called by that thread.
typedef struct {
    int (*start)(const char *path); // begins the session at that socket; 0 or an errno
    void (*stop)(void);
    void (*report_names)(void); // of threads that have no name in the recording yet
    void (*ended)(void);        // the last thing that the thread does; NULL: nothing
    void (*look)(void);         // now and then, five times a second; NULL: nothing
} sonde_attach_ops;

// Starts the thread, for the recorder that listens at `path`. Called in a thread of the target that
// was made to call it at a moment of our choosing: nothing is done that could wait for another one.
// 0 or an errno.
int sonde_attach_start(const char *path, const sonde_attach_ops *ops);

// In a forked child, which has no such thread: closes what belongs to the parent's. True if there
// was one.
bool sonde_attach_forked(void);
// The child counts as attached, so that no other recorder attaches to it, until one of these two.
void sonde_attach_abandon(void);
// Gives that child a thread of its own, for the session that it has begun at `path`.
void sonde_attach_child(const char *path);
// Whether there is such a thread, from the wish to attach to its last step: then it is the one that
// ends the session.
bool sonde_attach_is_active(void);

#endif
