// The call flow of the program: every entry and exit of a function, see core/flow.
#ifndef SONDE_CPYTHON_FLOW_H
#define SONDE_CPYTHON_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A session has begun. The caller has the GIL.
void sonde_flow_start(void);
// It is about to end: events are off, and nothing of ours is left in the interpreter. The caller
// has the GIL.
void sonde_flow_stop(void);
// In a forked child, which has its parent's hooks. `followed`: it has a session of its own.
void sonde_flow_forked(bool followed);

// The calling thread has entered or left a span. It has the GIL.
void sonde_flow_span_begins(uint32_t id, const char *name, size_t length);
void sonde_flow_span_ends(uint32_t id);

#endif
