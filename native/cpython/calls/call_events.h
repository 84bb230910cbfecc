// Seeing the calls of a window, with the GIL held. There are two ways:
//
// - all calls: by sys.monitoring from 3.12 on, by the profiling hook of the thread's own state on
//   3.11. That takes long: other instructions are put into all code that runs, and what the
//   interpreter had specialised is lost;
// - those of Python functions only, by the evaluator of frames where that is asked for all of them
//   (frame_evaluator.h), otherwise by sys.monitoring with one event. Specialised code stays.
#ifndef SONDE_SEEN_CALLS_H
#define SONDE_SEEN_CALLS_H

#include "cpython/calls/frame_evaluator.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_ARE_MONITORED (PY_VERSION_HEX >= 0x030C0000)

typedef enum { SONDE_SEE_FRAMES, SONDE_SEE_ALL } sonde_seeing;

static inline bool sonde_seen_by_evaluator(sonde_seeing how)
{
    return FRAMES_ARE_EVALUATED && how == SONDE_SEE_FRAMES;
}

// From the next call on until `end`; false if it cannot be.
bool sonde_seen_calls_begin(PyThreadState *state, sonde_seeing how);
void sonde_seen_calls_end(PyThreadState *state, sonde_seeing how);
// Is this the evaluator by which they are seen?
bool sonde_seen_calls_by(sonde_evaluator evaluator);

// Those that the interpreter tells of (monitoring.c, profile_hook.c). Once per session:
// SONDE_CALLS_COUNTED, or why it cannot.
uint32_t sonde_told_calls_prepare(void);
void sonde_told_calls_forget(void);
bool sonde_told_calls_begin(PyThreadState *state, sonde_seeing how);
void sonde_told_calls_end(PyThreadState *state);
// Is the window of this thread, once begun, still served? May be asked in a signal handler.
bool sonde_told_calls_go_on(const PyThreadState *state);
// The program's tools do not get the returns of pending_calls.h, until there are none left; or get
// them again.
void sonde_pending_hide(PyThreadState *state);
void sonde_pending_show(PyThreadState *state);

typedef struct {
    const PyCodeObject *begins; // NULL: C is called,
    PyObject *callable;         // which is this
    bool by_evaluator;          // the current frame is the caller's still,
    bool direct;                // which is known to have called it without C in between
    uint32_t over;              // calls before it that were not told, as was asked for
    uint64_t tsc;               // when we were told
} sonde_seen_call;

// Are calls of other threads seen in the same way? Those of the profiling hook are not.
static inline bool sonde_seen_of_all_threads(const sonde_seen_call *call)
{
    return CALLS_ARE_MONITORED || call->by_evaluator;
}

// The next so many calls of this thread need not be told, where they are seen by the evaluator.
void sonde_seen_pass_over(const PyThreadState *state, uint32_t calls);

// Nor those before this time.
void sonde_seen_wait(const PyThreadState *state, uint64_t tsc);
// How many those were since this was last asked.
uint32_t sonde_seen_waited(void);

// What is told of each call.
void sonde_call_seen(PyThreadState *state, const sonde_seen_call *call);
// And of one that will be told when its function begins.
void sonde_call_passed(const sonde_seen_call *call);

#endif
