// Which functions are recorded, if not all: those of a module, or what happens during the calls of
// a function or in a span of that name.
#ifndef SONDE_CPYTHON_FLOW_FILTER_H
#define SONDE_CPYTHON_FLOW_FILTER_H

#include "core/flow/flow_tree.h"
#include "cpython/frames/frames.h"

extern bool sonde_flow_limited;

// With the GIL.
void sonde_flow_filter_set(const char *within, size_t length);

// Whether an entry, exit or call of this code is recorded; `frame` runs it, NULL: is not known.
bool sonde_flow_admits(sonde_flow_thread *thread, PyCodeObject *code, const frame_t *frame,
                       bool entering);
// After an exit.
void sonde_flow_left(sonde_flow_thread *thread);
// Events of code that is not admitted now never will be.
bool sonde_flow_is_of_module(void);
bool sonde_flow_is_span(const char *name, size_t length);

#endif
