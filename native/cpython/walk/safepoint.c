#define _GNU_SOURCE
#include "cpython/walk/safepoint.h"

#include "core/base/clock.h"
#include "core/base/processor.h"
#include "core/sampling/self_walk.h"
#include "core/session/records.h"
#include "core/session/stack_delta.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"
#include "internal/pycore_ceval.h"
#if PY_VERSION_HEX < 0x030C0000
#include "internal/pycore_gil.h"
#endif

#include <errno.h>
#include <unistd.h>

static _Atomic bool call_pending; // and has not been executed yet: one at a time

// ---- the sample, with the GIL held

static void sample(sonde_thread *thread)
{
    sonde_event event = {.time = sonde_now(),
                         .cpu = sonde_thread_cpu(),
                         .processor = sonde_processor(),
                         .state = SONDE_RUNNING,
                         .chained = sonde_what() & SONDE_WHAT_CHAINED};
    uint32_t depth = sonde_self_walk(thread, NULL, &event);
    sonde_write_stack(thread, depth, &event);
    thread->slot->agent_ns += sonde_thread_cpu() - event.cpu + sonde.cpu_read_ns;
}

// The call may come long after it was asked for, in another session or in none.
static int on_pending_call(void *unused)
{
    (void)unused;
    int saved = errno;
    atomic_store(&call_pending, false);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        if (sonde_what() & SONDE_WHAT_CPU)
            sample(thread);
        sonde_leave(thread);
    }
    errno = saved;
    return 0;
}

// ---- asking, without it

typedef struct _gil_runtime_state gil_t;

static gil_t *gil_of(PyInterpreterState *interpreter)
{
#if PY_VERSION_HEX >= 0x030C0000
    return interpreter->ceval.gil;
#else
    (void)interpreter;
    return &_PyRuntime.ceval.gil;
#endif
}

static bool is_held(gil_t *gil)
{
#if PY_VERSION_HEX >= 0x030D0000
    return gil && _Py_atomic_load_int_relaxed(&gil->locked) > 0;
#else
    return gil && _Py_atomic_load_relaxed(&gil->locked) > 0;
#endif
}

#if PY_VERSION_HEX >= 0x030C0000

static bool can_be_asked(gil_t *gil) { return is_held(gil); }

static bool add_call(PyInterpreterState *interpreter)
{
    // Of the interpreter, not of its main thread: any of its threads makes them.
    return _PyEval_AddPendingCall(interpreter, on_pending_call, NULL, 0) == 0;
}

static void take_back(PyInterpreterState *interpreter) { (void)interpreter; }

#else

// On 3.11 pending calls are made by the main thread only, and asked for by another one they do not
// wake the interpreter loop. So the loop is woken here, and only if it is the main thread's.
static bool can_be_asked(gil_t *gil)
{
    if (!is_held(gil))
        return false;
    const PyThreadState *holder = (PyThreadState *)_Py_atomic_load_relaxed(&gil->last_holder);
    return holder && holder->thread_id == _PyRuntime.main_thread;
}

static bool add_call(PyInterpreterState *interpreter)
{
    if (_PyEval_AddPendingCall(interpreter, on_pending_call, NULL) != 0)
        return false;
    _Py_atomic_store(&interpreter->ceval.eval_breaker, 1);
    return true;
}

// Another thread got the GIL before the main one made the call: it would check at each iteration in
// vain. A request sets its reason first, so if there is no reason afterwards there was none.
static void take_back(PyInterpreterState *interpreter)
{
    struct _ceval_state *its = &interpreter->ceval;
    if (!_Py_atomic_load_relaxed(&its->eval_breaker))
        return;
    _Py_atomic_store(&its->eval_breaker, 0);
    if (_Py_atomic_load(&its->gil_drop_request) || its->pending.async_exc ||
        _Py_atomic_load(&_PyRuntime.ceval.signals_pending))
        _Py_atomic_store(&its->eval_breaker, 1);
}

#endif

static void ask_body(void *unused)
{
    (void)unused;
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    if (!interpreter || interpreter_is_finalizing())
        return;
    bool can = can_be_asked(gil_of(interpreter));
    if (atomic_load(&call_pending)) {
        if (!can)
            take_back(interpreter);
    } else if (can) {
        atomic_store(&call_pending, true);
        if (!add_call(interpreter)) // the program has filled the list itself
            atomic_store(&call_pending, false);
    }
}

uint32_t sonde_safepoint_ask(void)
{
    // The interpreter may finalize between our check and our request.
    sonde_guard_run(ask_body, NULL);
    return PY_VERSION_HEX >= 0x030C0000 ? 0 : (uint32_t)getpid();
}

void sonde_safepoint_forked(void) { atomic_store(&call_pending, false); }
