// Waits that had begun before the session did.
//
// Their threads are inside libc and passed none of our hooks on the way in. In a process that
// already hangs these are the only waits there are.
#ifndef SONDE_CPYTHON_PREEXISTING_WAITS_H
#define SONDE_CPYTHON_PREEXISTING_WAITS_H

// Reports every thread that waits for a lock right now. The caller holds the GIL.
void sonde_find_preexisting_waits(void);

#endif
