// Sampling what the program allocates.
#ifndef SONDE_CPYTHON_OBJECTS_H
#define SONDE_CPYTHON_OBJECTS_H

#include <stdbool.h>

// A session has begun. The caller has the GIL.
void sonde_objects_start(void);
// It is about to end: hooks are removed, and what is alive is reported as far as it is known. The
// caller has the GIL.
void sonde_objects_stop(void);
// It has ended.
void sonde_objects_forget(void);
// In a forked child, which has its parent's hooks. `followed`: it has a session of its own.
void sonde_objects_forked(bool followed);

#endif
