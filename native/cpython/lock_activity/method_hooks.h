// Hooks in the methods by which programs acquire and release locks.
#ifndef SONDE_CPYTHON_METHOD_HOOKS_H
#define SONDE_CPYTHON_METHOD_HOOKS_H

#include <stdbool.h>

// A session has begun: hooks are put in, if acquisitions are to be sampled. The caller has the GIL.
void sonde_lock_activity_start(void);
// It is about to end: hooks are taken out. The caller has the GIL.
void sonde_lock_activity_stop(void);
// In a forked child, which has its parent's hooks, before any other part of the agent handles the
// fork ...
void sonde_lock_activity_before_child(void);
// ... and after all of them. `followed`: it has a session of its own.
void sonde_lock_activity_forked(bool followed);

#endif
