// Probes and step traces of a session: a thread of the agent's waits for the recorder's orders.
#ifndef SONDE_CPYTHON_PROBE_SESSION_H
#define SONDE_CPYTHON_PROBE_SESSION_H

#include <stdbool.h>

// A session has begun. The caller has the GIL.
void sonde_probes_start(void);
// It is about to end. The caller has the GIL, which is released meanwhile. False: another thread
// ends it already.
bool sonde_probes_stop(void);
// In a forked child. `followed`: it has a session of its own.
void sonde_probes_forked(bool followed);

#endif
