// A call that was seen, and its consumer: the counter of calls sets the functions below, so that
// those that see calls need not depend on it.
#ifndef SONDE_CPYTHON_CALL_SINK_H
#define SONDE_CPYTHON_CALL_SINK_H

#include "cpython/frames/frames.h"

#define CALLS_ARE_MONITORED (PY_VERSION_HEX >= 0x030C0000)

typedef enum { SONDE_SEE_FRAMES, SONDE_SEE_ALL } sonde_call_scope;

typedef struct {
    const PyCodeObject *begins; // NULL: C is called,
    PyObject *callable;         // which is this
    bool by_evaluator;          // the current frame is the caller's still,
    bool direct;                // which is known to have called it without C in between
    uint32_t over;              // calls before it that were not reported, as requested
    uint64_t tsc;               // when it was reported
} sonde_call_event;

// Are calls of other threads seen in the same way? Those of the profiling hook are not.
static inline bool sonde_call_event_is_of_all_threads(const sonde_call_event *call)
{
    return CALLS_ARE_MONITORED || call->by_evaluator;
}

// Both are set before any call is seen. Called for each call.
extern void (*sonde_report_call)(PyThreadState *state, const sonde_call_event *call);
// And for one that will be reported when its function begins.
extern void (*sonde_announce_call)(const sonde_call_event *call);

#endif
