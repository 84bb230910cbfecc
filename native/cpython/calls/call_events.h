// Seeing the calls of a window, with the GIL held. There are two ways:
//
// - all calls: by sys.monitoring from 3.12 on, by the profiling hook of the thread's own state on
//   3.11. That takes long: other instructions are put into all code that runs, and what the
//   interpreter had specialised is lost;
// - those of Python functions only, by the evaluator of frames where that is asked for all of them
//   (frame_evaluator.h), otherwise by sys.monitoring with one event. Specialised code stays.
#ifndef SONDE_CPYTHON_CALL_EVENTS_H
#define SONDE_CPYTHON_CALL_EVENTS_H

#include "cpython/calls/call_sink.h"
#include "cpython/calls/frame_evaluator.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool sonde_call_events_by_evaluator(sonde_call_scope how)
{
    return FRAMES_ARE_EVALUATED && how == SONDE_SEE_FRAMES;
}

// From the next call on until `end`; false if it cannot be.
bool sonde_call_events_begin(PyThreadState *state, sonde_call_scope how);
void sonde_call_events_end(PyThreadState *state, sonde_call_scope how);
// Is this the evaluator by which they are seen?
bool sonde_call_events_by(sonde_evaluator evaluator);

// The next so many calls of this thread need not be reported, where they are seen by the evaluator.
void sonde_call_events_skip(const PyThreadState *state, uint32_t calls);

// Nor those before this time.
void sonde_call_events_skip_until(const PyThreadState *state, uint64_t tsc);
// How many those were since the last call of this.
uint32_t sonde_call_events_skipped(void);

#endif
