// Lock and GIL contention: which thread waits, which one releases while another waits, and in which
// call stack.
//
// The interpreter's own calls into libc are hooked, so every lock of Python is seen, whatever uses
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
