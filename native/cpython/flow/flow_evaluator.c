#include "cpython/flow/flow_source.h"

#include "cpython/calls/frame_evaluator.h"
#include "cpython/flow/flow_filter.h"
#include "cpython/frames/c_callee.h"

#if PY_VERSION_HEX < 0x030C0000

#include "internal/pycore_genobject.h"

// ---- functions of Python

static bool has_begun(const frame_t *frame, const PyCodeObject *code)
{
    return frame->prev_instr - code_start(code) > code->_co_firsttraceable;
}

static PyObject *evaluate(PyThreadState *state, frame_t *frame, int throws)
{
    uint64_t now = __rdtsc();
    PyCodeObject *code = frame_code(frame);
    bool suspends = frame->owner == FRAME_OWNED_BY_GENERATOR;
    // What makes a generator is no call yet, nor is what closes one that has not begun.
    bool makes = suspends ? throws && !has_begun(frame, code)
                          : code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    sonde_flow_thread *thread = makes ? NULL : sonde_flow_event_thread(&now, true);
    if (thread && sonde_flow_limited && !sonde_flow_admits(thread, code, frame, true))
        thread = NULL;
    if (!thread)
        return _PyEval_EvalFrameDefault(state, frame, throws);
    uint32_t run = thread->run;
    PyGenObject *generator = suspends ? _PyFrame_GetGenerator(frame) : NULL;
    sonde_flow_enter(thread, sonde_flow_key(code),
                     throws                               ? SONDE_FLOW_THROW
                     : suspends && has_begun(frame, code) ? SONDE_FLOW_RESUME
                                                          : SONDE_FLOW_START,
                     now);
    PyObject *result = _PyEval_EvalFrameDefault(state, frame, throws);
    now = __rdtsc();
    if (run != sonde_flow.run || thread->run != run)
        return result;
    if (sonde_flow.metric >= SONDE_FLOW_INSTRUCTIONS)
        now = sonde_flow_now(thread);
    bool yields = result && generator && generator->gi_frame_state == FRAME_SUSPENDED;
    sonde_flow_leave(thread, sonde_flow_key(code),
                     !result  ? SONDE_FLOW_UNWIND
                     : yields ? SONDE_FLOW_YIELD
                              : SONDE_FLOW_RETURN,
                     now);
    if (sonde_flow_limited)
        sonde_flow_left(thread);
    return result;
}

// ---- functions of C, and instructions: by the functions of sys.setprofile and sys.settrace, if
// the thread has none

static int on_profile(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)unused;
    uint64_t now = __rdtsc();
    if (what != PyTrace_C_CALL && what != PyTrace_C_RETURN && what != PyTrace_C_EXCEPTION)
        return 0;
    sonde_flow_thread *thread = sonde_flow_event_thread(&now, false);
    uint64_t key = thread && arg ? sonde_native_key(arg) : 0;
    if (!key || (sonde_flow_limited &&
                 !sonde_flow_admits(thread, frame_code(frame->f_frame), frame->f_frame, false)))
        return 0;
    sonde_flow_callable = arg;
    if (what == PyTrace_C_CALL)
        sonde_flow_enter(thread, key | 1, SONDE_FLOW_C_CALL, now);
    else
        sonde_flow_leave(thread, key | 1,
                         what == PyTrace_C_RETURN ? SONDE_FLOW_C_RETURN : SONDE_FLOW_C_RAISE, now);
    return 0;
}

static int on_trace(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)unused;
    (void)arg;
    frame->f_trace_opcodes = 1;
    frame->f_trace_lines = 0;
    if (what == PyTrace_OPCODE && sonde_flow_mine.run == sonde_flow.run)
        sonde_flow_mine.count++;
    return 0;
}

void sonde_flow_source_thread(PyThreadState *state)
{
    const sonde_flow_header *header = sonde_flow.header;
    if (header->flags & SONDE_FLOW_NATIVE && !state->c_profilefunc)
        state->c_profilefunc = on_profile;
    if (header->metric == SONDE_FLOW_INSTRUCTIONS && !state->c_tracefunc)
        state->c_tracefunc = on_trace;
    if (state->c_profilefunc || state->c_tracefunc)
        state->cframe->use_tracing = 255;
}

static void leave_thread(PyThreadState *state)
{
    if (state->c_profilefunc == on_profile)
        state->c_profilefunc = NULL;
    if (state->c_tracefunc == on_trace)
        state->c_tracefunc = NULL;
    if (!state->c_profilefunc && !state->c_tracefunc && state->cframe)
        state->cframe->use_tracing = 0;
}

// ---- switching

uint32_t sonde_flow_source_prepare(PyThreadState *state)
{
    return sonde_evaluator_of(state->interp) ? SONDE_FLOW_TRACED : SONDE_FLOW_RECORDED;
}

bool sonde_flow_source_on(PyThreadState *state)
{
    sonde_evaluate_by(state->interp, evaluate);
    if (sonde_flow_mine.run == sonde_flow.run)
        sonde_flow_source_thread(state);
    return true;
}

void sonde_flow_source_off(PyThreadState *state)
{
    sonde_evaluate_no_more(state->interp, evaluate);
    for (PyThreadState *t = PyInterpreterState_ThreadHead(state->interp); t;
         t = PyThreadState_Next(t))
        leave_thread(t);
}

void sonde_flow_source_release(PyThreadState *state) { sonde_flow_source_off(state); }

#endif
