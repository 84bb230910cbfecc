#include "cpython/calls/call_events.h"

#include "core/base/hot.h"
#include "cpython/calls/frame_evaluator.h"
#include "cpython/calls/reported_calls.h"
#include "cpython/frames/call_sites.h"
#include "cpython/walk/walk.h"

#include <x86intrin.h>

static bool evaluating;

// Most calls of a window are only passed over, and counting down is all there is to do.
static struct {
    const PyThreadState *state; // whose calls these are
    uint32_t left, passed;
    uint64_t until;  // by the processor's counter: calls before are passed over,
    uint32_t waited; // so many
} over;

// ---- by the evaluator

// A generator's frame is evaluated when it is made, which is nothing, and whenever it goes on.
SONDE_HOT static const PyCodeObject *begins(const frame_t *frame)
{
    PyCodeObject *code;
    Py_ssize_t index;
    if (!frame_decode(frame, &code, &index) || index > code->_co_firsttraceable)
        return NULL;
    bool is_made = (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
                   frame->owner != FRAME_OWNED_BY_GENERATOR;
    return is_made ? NULL : code;
}

// sonde_calls_directly() resets the instruction's count of misses, so it runs also at some of the
// calls that are skipped. 53 misses in a row are too many, and loops have several calls.
#define RESTORED_EVERY 3

SONDE_HOT static PyObject *on_frame(PyThreadState *state, frame_t *frame, int throws)
{
    if (sonde_frame_may_call(state, throws)) {
        const PyCodeObject *code = begins(frame);
        if (code && over.left && over.state == state) {
            if (over.left % RESTORED_EVERY == 0)
                sonde_calls_directly(sonde_cpython_top(state), frame);
            over.left--;
            over.passed++;
        } else if (code && evaluating) {
            uint64_t reported = __rdtsc(); // before what we do ourselves
            if (reported < over.until && over.state == state) {
                if (++over.waited % RESTORED_EVERY == 0)
                    sonde_calls_directly(sonde_cpython_top(state), frame);
                return _PyEval_EvalFrameDefault(state, frame, throws);
            }
            sonde_call_event call = {.tsc = reported,
                                     .begins = code,
                                     .by_evaluator = true,
                                     .direct =
                                         sonde_calls_directly(sonde_cpython_top(state), frame),
                                     .over = over.passed};
            over.left = over.passed = 0;
            sonde_report_call(state, &call);
        } else if (!evaluating) { // other code took it for the program's own and put it back
            sonde_evaluate_no_more(state->interp, on_frame);
        }
    }
    return _PyEval_EvalFrameDefault(state, frame, throws);
}

SONDE_HOT void sonde_call_events_skip(const PyThreadState *state, uint32_t calls)
{
    over.state = state;
    over.left = calls;
}

SONDE_HOT void sonde_call_events_skip_until(const PyThreadState *state, uint64_t tsc)
{
    over.state = state;
    over.until = tsc;
}

SONDE_HOT uint32_t sonde_call_events_skipped(void)
{
    uint32_t waited = over.waited;
    over.waited = 0;
    return waited;
}

// ---- either way

SONDE_HOT bool sonde_call_events_begin(PyThreadState *state, sonde_call_scope how)
{
    if (!sonde_call_events_by_evaluator(how))
        return sonde_reported_calls_begin(state, how);
    evaluating = true;
    over.left = over.passed = 0;
    over.until = 0;
    over.waited = 0;
    sonde_evaluate_by(state->interp, on_frame);
    return true;
}

SONDE_HOT void sonde_call_events_end(PyThreadState *state, sonde_call_scope how)
{
    if (!sonde_call_events_by_evaluator(how)) {
        sonde_reported_calls_end(state);
        return;
    }
    evaluating = false;
    over.left = 0;
    sonde_evaluate_no_more(state->interp, on_frame);
}

bool sonde_call_events_by(sonde_evaluator evaluator) { return evaluator == on_frame; }
