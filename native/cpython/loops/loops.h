// Recording the tasks of event loops.
#ifndef SONDE_CPYTHON_LOOPS_H
#define SONDE_CPYTHON_LOOPS_H

#include <stdbool.h>

// A session has begun; the caller has the GIL.
void sonde_loops_start(void);
// It is about to end: hooks are removed, and what was only added up is written. The caller has the
// GIL.
void sonde_loops_stop(void);
// In a forked child, which has its parent's hooks. `followed`: it has a session of its own.
void sonde_loops_forked(bool followed);

#endif
