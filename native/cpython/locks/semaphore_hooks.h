// Lock and GIL contention: who waits, who lets go while somebody waits, and in which call chain.
//
// The interpreter's own calls into libc are hooked, so every lock of Python is seen, whoever uses
// it. Nothing is written unless a thread really has to wait.
#ifndef SONDE_CPYTHON_SEMAPHORE_HOOKS_H
#define SONDE_CPYTHON_SEMAPHORE_HOOKS_H

// Hooks the interpreter; false if that failed. `got` hooks may be entered until long after the
// stop.
int sonde_locks_start(void);
// After the session has ended, for which it waits for drafts (lock_events.h), which hooks end.
void sonde_locks_stop(void);
void sonde_locks_forked(void);

#endif
