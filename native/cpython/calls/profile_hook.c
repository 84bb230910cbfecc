#include "cpython/calls/reported_calls.h"

#include "core/session/shm.h"
#include "cpython/calls/pending_calls.h"
#include "cpython/calls/tools.h"
#include "cpython/frames/c_callee.h"
#include "cpython/frames/frames.h"

#include <x86intrin.h>

#if !CALLS_ARE_MONITORED

// 3.11 reports a thread's calls to the profiling function of its state. The two stores are those of
// PyEval_SetProfile, which would raise an audit event each time.

static const PyCodeObject *begins(PyFrameObject *object)
{
    PyCodeObject *code;
    Py_ssize_t index;
    // Generators come here again whenever they are resumed.
    bool first = frame_decode(object->f_frame, &code, &index) && index <= code->_co_firsttraceable;
    return first ? code : NULL;
}

static void note_call(PyThreadState *state, const frame_t *frame, bool reported)
{
    PyCodeObject *code;
    Py_ssize_t index;
    if (frame_decode(frame, &code, &index))
        sonde_pending_begins(state, frame, index, reported);
}

static int on_event(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)unused;
    sonde_call_event call = {.tsc = __rdtsc()};
    if (what == PyTrace_C_CALL)
        note_call(PyThreadState_Get(), frame->f_frame, true);
    if (what == PyTrace_CALL) {
        call.begins = begins(frame);
        if (call.begins)
            sonde_report_call(PyThreadState_Get(), &call);
    } else if (what == PyTrace_C_CALL && arg && sonde_is_native(arg)) {
        call.callable = arg;
        sonde_report_call(PyThreadState_Get(), &call);
    }
    return 0;
}

uint32_t sonde_reported_calls_prepare(void)
{
    sonde_window_profiler = on_event;
    return SONDE_CALLS_COUNTED;
}

void sonde_reported_calls_forget(void) {}

bool sonde_reported_calls_begin(PyThreadState *state, sonde_call_scope how)
{
    (void)how; // it is all
    if (state->c_profilefunc || state->c_tracefunc)
        return false;
    state->c_profilefunc = on_event;
    state->cframe->use_tracing = 255;
    return true;
}

void sonde_reported_calls_end(PyThreadState *state)
{
    if (state->c_profilefunc != on_event)
        return;
    state->c_profilefunc = NULL;
    state->cframe->use_tracing = state->c_tracefunc ? 255 : 0;
    sonde_pending_count(state->interp);
}

bool sonde_reported_calls_go_on(const PyThreadState *state)
{
    return state->c_profilefunc == on_event;
}

// ---- between the interpreter and the program's own profiling function

static struct {
    PyThreadState *state; // NULL: none's
    Py_tracefunc function;
} hidden;

static int on_event_of_program(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *state = PyThreadState_Get();
    Py_tracefunc function = hidden.function;
    PyCodeObject *code;
    Py_ssize_t index;
    if (what == PyTrace_C_CALL) {
        note_call(state, frame->f_frame, false);
    } else if ((what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) &&
               frame_decode(frame->f_frame, &code, &index) &&
               sonde_pending_returns(state, frame->f_frame, index)) {
        note_call(state, frame->f_frame, false);
        return 0;
    }
    if (!sonde_pending_count(state->interp))
        sonde_pending_show(state);
    return function(object, frame, what, arg);
}

void sonde_pending_hide(PyThreadState *state)
{
    PyThreadState *alive = PyInterpreterState_ThreadHead(state->interp);
    while (alive && alive != hidden.state)
        alive = PyThreadState_Next(alive);
    if (!alive) // that thread has ended
        hidden.state = NULL;
    if (!state->c_profilefunc || hidden.state || !sonde_pending_count(state->interp))
        return;
    hidden.state = state;
    hidden.function = state->c_profilefunc;
    state->c_profilefunc = on_event_of_program;
}

void sonde_pending_show(PyThreadState *state)
{
    if (hidden.state == state && state->c_profilefunc == on_event_of_program)
        state->c_profilefunc = hidden.function;
    if (hidden.state == state)
        hidden.state = NULL;
}

#endif
