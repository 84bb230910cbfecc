#define _GNU_SOURCE
#include "cpython/flow/flow.h"

#include "core/base/clock.h"
#include "core/flow/flow_costs.h"
#include "core/session/session.h"
#include "cpython/calls/tools.h"
#include "cpython/flow/flow_filter.h"
#include "cpython/flow/flow_source.h"
#include "cpython/flow/flow_training.h"
#include "cpython/frames/c_callee.h"
#include "cpython/frames/code_objects.h"
#include "cpython/walk/walk.h"

#include <string.h>

_Thread_local sonde_flow_thread sonde_flow_mine __attribute__((tls_model("initial-exec")));
PyObject *sonde_flow_callable;

static PyInterpreterState *home; // whose functions are recorded, NULL: none's
static struct {
    double ns_per_tick, residual;
    bool calibrated;
} known;              // for forked children
static bool orphaned; // a forked child still has its parent's events, and no session

// ---- functions

static uint64_t describe(uint64_t key)
{
    sonde_thread *me = sonde_enter();
    if (!me)
        return 0;
    uint64_t id = key & 1 ? sonde_native_word(me, sonde_flow_callable) >> SONDE_INSTR_BITS
                          : sonde_describe_code(me, (PyCodeObject *)(uintptr_t)key);
    sonde_leave(me);
    return id;
}

// Another code object must not come to lie in the place of one that has died.
static void hold(uint64_t key)
{
    if (!(key & 1))
        Py_INCREF((PyObject *)(uintptr_t)key);
}

static void release(uint64_t key)
{
    if (!(key & 1))
        Py_DECREF((PyObject *)(uintptr_t)key);
}

// ---- threads

// The functions that a thread runs when its first event comes.
static void enter_stack(sonde_flow_thread *thread, PyThreadState *state, bool entering)
{
    static const frame_t *frames[SONDE_MAX_DEPTH]; // the caller has the GIL
    uint32_t depth = 0;
    const frame_t *top = sonde_cpython_top(state);
    for (const frame_t *f = top; f && depth < SONDE_MAX_DEPTH; f = f->previous)
        if (!frame_is_shim(f) && Py_IS_TYPE((PyObject *)frame_code(f), &PyCode_Type))
            frames[depth++] = f;
    bool skips = entering && PY_VERSION_HEX >= 0x030C0000 && depth;
    while (depth > (skips ? 1 : 0))
        sonde_flow_preexisting(thread, sonde_flow_key(frame_code(frames[--depth])));
}

static void leave_orphaned(PyThreadState *state)
{
    if (!orphaned)
        return;
    orphaned = false;
    PyObject *raised[3] = {NULL, NULL, NULL};
    PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
    sonde_flow_source_release(state);
    PyErr_Restore(raised[0], raised[1], raised[2]);
}

sonde_flow_thread *sonde_flow_thread_new(bool entering)
{
    PyThreadState *state = PyThreadState_Get();
    if (!sonde_flow.run) {
        leave_orphaned(state);
        return NULL;
    }
    bool trains = sonde_flow_trainee != NULL;
    if (state->interp != home || (trains && state != sonde_flow_trainee) ||
        interpreter_is_finalizing())
        return NULL;
    if (!trains && !(sonde_what() & SONDE_WHAT_FLOW))
        return NULL;
    sonde_flow_thread *thread = &sonde_flow_mine;
    if (!sonde_flow_thread_begin(thread)) {
        atomic_fetch_add(&sonde_flow.header->lost_calls, entering);
        return NULL;
    }
    if (!trains && !sonde_flow_limited)
        enter_stack(thread, state, entering);
    sonde_flow_source_thread(state);
    thread->left = sonde_flow_now(thread);
    return thread;
}

// ---- spans

void sonde_flow_span_begins(uint32_t id, const char *name, size_t length)
{
    if (!sonde_flow.run || !sonde_flow_is_span(name, length) || sonde_flow_mine.span)
        return;
    sonde_flow_thread *thread = &sonde_flow_mine;
    if (thread->run != sonde_flow.run && !(thread = sonde_flow_thread_new(false)))
        return;
    enter_stack(thread, PyThreadState_Get(), false);
    thread->kinds = 0;
    thread->left = sonde_flow_now(thread);
    thread->span = id;
}

void sonde_flow_span_ends(uint32_t id)
{
    sonde_flow_thread *thread = &sonde_flow_mine;
    if (!sonde_flow.run || thread->run != sonde_flow.run || thread->span != id)
        return;
    sonde_flow_pass(thread, SONDE_FLOW_BEGIN, sonde_flow_now(thread));
    thread->span = 0;
    thread->cur = thread->root;
    thread->over = 0;
}

// ---- beginning and end

static sonde_flow_header *header_of(void) { return (sonde_flow_header *)sonde.flow; }

static void begin(sonde_flow_header *header)
{
    if (!sonde_flow_begin(header, sonde.flow_size)) {
        atomic_store(&header->state, SONDE_FLOW_FAILED);
        return;
    }
    sonde_flow.describe = describe;
    sonde_flow.hold = hold;
    uint32_t length = header->within_length;
    sonde_flow_filter_set(header->within, length < SONDE_FLOW_WITHIN ? length : SONDE_FLOW_WITHIN);
    atomic_store(&header->state, SONDE_FLOW_RECORDED);
}

static void state_clock(sonde_flow_header *header, uint64_t tick, uint64_t ns)
{
    uint64_t ticks, passed;
    do { // 5 ms of a clock that is right to some 50 ns
        ticks = __rdtsc() - tick;
        passed = sonde_now() - ns;
    } while (passed < 5000000);
    header->ns_per_tick = (double)passed / (double)ticks;
    header->start_tick = tick;
    header->start_ns = ns;
}

void sonde_flow_start(void)
{
    if (!(sonde.config.what & SONDE_WHAT_FLOW) || !sonde.flow || home)
        return;
    sonde_flow_header *header = header_of();
    PyThreadState *state = PyThreadState_Get();
    uint64_t tick = __rdtsc(), ns = sonde_now();
    bool traced = sonde_tool_active(state) >= 0;
    uint32_t prepared = sonde_flow_source_prepare(state);
    atomic_store(&header->state, prepared);
    if (prepared != SONDE_FLOW_RECORDED) {
        sonde_flow_source_release(state);
        return;
    }
    home = state->interp;
    bool timed = header->metric < SONDE_FLOW_INSTRUCTIONS;
    // Functions of ours must not be seen by a tool of the program's.
    double residual = 0;
    bool calibrated = timed && !traced && sonde_flow_train(state, header, &residual);
    header->residual = calibrated ? residual : 0;
    atomic_store(&header->calibrated, calibrated || !timed);
    state_clock(header, tick, ns);
    known.ns_per_tick = header->ns_per_tick;
    known.residual = header->residual;
    known.calibrated = calibrated || !timed;
    begin(header);
    if (!sonde_flow.run)
        return;
    if (!calibrated)
        sonde_flow_costs_reset();
    if (!sonde_flow_source_on(state))
        atomic_store(&header->state, SONDE_FLOW_FAILED);
}

void sonde_flow_stop(void)
{
    PyThreadState *state = PyThreadState_Get();
    if (!home || state->interp != home)
        return;
    sonde_flow_thread *thread = &sonde_flow_mine;
    if (sonde_flow.run && thread->run == sonde_flow.run && (!sonde_flow_limited || thread->span))
        sonde_flow_pass(thread, SONDE_FLOW_BEGIN, sonde_flow_now(thread));
    sonde_flow_source_release(state);
    sonde_flow_end(release);
    home = NULL;
}

void sonde_flow_forked(bool followed)
{
    if (!home)
        return;
    sonde_flow_header *header = followed ? header_of() : NULL;
    sonde_flow_forget();
    if (!header) {
        home = NULL;
        orphaned = true;
        return;
    }
    header->ns_per_tick = known.ns_per_tick;
    header->residual = known.residual;
    atomic_store(&header->calibrated, known.calibrated);
    header->start_tick = __rdtsc();
    header->start_ns = sonde_now();
    begin(header);
}
