#define _GNU_SOURCE
#include "cpython/flow/flow_source.h"

#include "cpython/calls/call_sink.h"
#include "cpython/calls/tools.h"
#include "cpython/flow/flow_filter.h"
#include "cpython/frames/c_callee.h"
#include "cpython/walk/walk.h"

#if PY_VERSION_HEX >= 0x030C0000

static PyObject *monitoring, *disable;
static int tool = -1;
static bool disabled_any; // events of some code, in this run or an earlier one

void sonde_flow_source_thread(PyThreadState *state) { (void)state; }

// ---- callbacks
//
// Objects of a type of our own: the interpreter calls these with fewer steps than functions of C.

typedef struct {
    PyObject_HEAD vectorcallfunc call;
} callback;

#define CALLBACK(name)                                                                             \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *names)

// Offsets above those of the numbers that the interpreter has for good are new objects.
static inline bool is_far(PyObject *offset) { return !_Py_IsImmortal(offset); }

static inline PyObject *not_admitted(bool may_disable)
{
    if (!may_disable || !sonde_flow_is_of_module() || !disable)
        Py_RETURN_NONE;
    disabled_any = true;
    return Py_NewRef(disable);
}

static const frame_t *top_frame(void) { return sonde_cpython_top(PyThreadState_Get()); }

static inline PyObject *enter(PyObject *const *args, uint32_t kind, bool may_disable, uint64_t now)
{
    sonde_flow_thread *thread = sonde_flow_event_thread(&now, true);
    if (!thread)
        Py_RETURN_NONE;
    if (__builtin_expect(sonde_flow_limited, 0) &&
        !sonde_flow_admits(thread, (PyCodeObject *)args[0], top_frame(), true))
        return not_admitted(may_disable);
    sonde_flow_enter(thread, sonde_flow_key(args[0]), kind, now);
    Py_RETURN_NONE;
}

static inline PyObject *leave(PyObject *const *args, uint32_t kind, bool may_disable, uint64_t now)
{
    sonde_flow_thread *thread = sonde_flow_event_thread(&now, false);
    if (!thread)
        Py_RETURN_NONE;
    bool limited = sonde_flow_limited;
    if (__builtin_expect(limited, 0) &&
        !sonde_flow_admits(thread, (PyCodeObject *)args[0], top_frame(), false))
        return not_admitted(may_disable);
    sonde_flow_leave(thread, sonde_flow_key(args[0]), kind, now);
    if (__builtin_expect(limited, 0))
        sonde_flow_left(thread);
    Py_RETURN_NONE;
}

#define UNUSED (void)self, (void)count, (void)names

CALLBACK(on_start)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return enter(args, SONDE_FLOW_START, true, now);
}

CALLBACK(on_resume)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return enter(args, SONDE_FLOW_RESUME, true, now);
}

CALLBACK(on_throw)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return enter(args, SONDE_FLOW_THROW, false, now);
}

CALLBACK(on_return)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return leave(args, is_far(args[1]) ? SONDE_FLOW_RETURN_FAR : SONDE_FLOW_RETURN, true, now);
}

CALLBACK(on_yield)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return leave(args, is_far(args[1]) ? SONDE_FLOW_YIELD_FAR : SONDE_FLOW_YIELD, true, now);
}

CALLBACK(on_unwind)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return leave(args, SONDE_FLOW_UNWIND, false, now);
}

CALLBACK(on_call)
{
    uint64_t now = __rdtsc();
    UNUSED;
    sonde_flow_thread *thread = sonde_flow_event_thread(&now, false);
    if (!thread)
        Py_RETURN_NONE;
    if (__builtin_expect(sonde_flow_limited, 0) &&
        !sonde_flow_admits(thread, (PyCodeObject *)args[0], top_frame(), false))
        return not_admitted(true);
    uint64_t key = sonde_native_key(args[2]);
    if (key) {
        sonde_flow_callable = args[2];
        uint32_t kind = is_far(args[1]) ? SONDE_FLOW_C_CALL_FAR : SONDE_FLOW_C_CALL;
        sonde_flow_enter(thread, key | 1, kind, now);
    } else {
        uint32_t kind = is_far(args[1]) ? SONDE_FLOW_OTHER_CALL_FAR : SONDE_FLOW_OTHER_CALL;
        sonde_flow_pass(thread, kind, now);
    }
    Py_RETURN_NONE;
}

static inline PyObject *leave_native(PyObject *const *args, uint32_t kind, uint64_t now)
{
    sonde_flow_thread *thread = sonde_flow_event_thread(&now, false);
    if (!thread)
        Py_RETURN_NONE;
    if (__builtin_expect(sonde_flow_limited, 0) &&
        !sonde_flow_admits(thread, (PyCodeObject *)args[0], top_frame(), false))
        Py_RETURN_NONE;
    uint64_t key = sonde_native_key(args[2]);
    if (key)
        sonde_flow_leave(thread, key | 1, kind, now);
    Py_RETURN_NONE;
}

CALLBACK(on_c_return)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return leave_native(args, is_far(args[1]) ? SONDE_FLOW_C_RETURN_FAR : SONDE_FLOW_C_RETURN, now);
}

CALLBACK(on_c_raise)
{
    uint64_t now = __rdtsc();
    UNUSED;
    return leave_native(args, SONDE_FLOW_C_RAISE, now);
}

CALLBACK(on_instruction)
{
    (void)args;
    UNUSED;
    if (sonde_flow_mine.run == sonde_flow.run)
        sonde_flow_mine.count++;
    Py_RETURN_NONE;
}

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "sonde.callback",
    .tp_basicsize = sizeof(callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(callback, call),
    .tp_call = PyVectorcall_Call,
};

static const struct {
    int event;
    vectorcallfunc call;
    bool native, instructions; // only if those are asked for
} events[] = {
    {PY_MONITORING_EVENT_PY_START, on_start, false, false},
    {PY_MONITORING_EVENT_PY_RESUME, on_resume, false, false},
    {PY_MONITORING_EVENT_PY_THROW, on_throw, false, false},
    {PY_MONITORING_EVENT_PY_RETURN, on_return, false, false},
    {PY_MONITORING_EVENT_PY_YIELD, on_yield, false, false},
    {PY_MONITORING_EVENT_PY_UNWIND, on_unwind, false, false},
    {PY_MONITORING_EVENT_CALL, on_call, true, false},
    {PY_MONITORING_EVENT_C_RETURN, on_c_return, true, false},
    {PY_MONITORING_EVENT_C_RAISE, on_c_raise, true, false},
    {PY_MONITORING_EVENT_INSTRUCTION, on_instruction, false, true},
};
#define EVENTS (sizeof events / sizeof *events)
static PyObject *callbacks[EVENTS]; // stay for good: the interpreter may be calling one

static bool is_asked(size_t i)
{
    const sonde_flow_header *header = sonde_flow.header;
    return (!events[i].native || header->flags & SONDE_FLOW_NATIVE) &&
           (!events[i].instructions || header->metric == SONDE_FLOW_INSTRUCTIONS);
}

static bool make_callbacks(void)
{
    if (PyType_Ready(&callback_type) < 0)
        return false;
    for (size_t i = 0; i < EVENTS; i++) {
        if (callbacks[i])
            continue;
        callback *made = PyObject_New(callback, &callback_type);
        if (!made)
            return false;
        made->call = events[i].call;
        callbacks[i] = (PyObject *)made;
    }
    return true;
}

// ---- the tool
//
// Callbacks are stored where the interpreter keeps them: registering one raises an audit event,
// which the program would see.

static bool take_tool(void)
{
    static const int ids[] = {4, 3, 5, 2, 1, 0}; // the others have a purpose by convention
    for (size_t i = 0; i < sizeof ids / sizeof *ids && tool < 0; i++) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", ids[i], "sonde");
        if (done)
            tool = ids[i];
        Py_XDECREF(done);
        PyErr_Clear();
    }
    return tool >= 0;
}

static bool call_tool(const char *function, long events_on)
{
    PyObject *done = events_on < 0
                         ? PyObject_CallMethod(monitoring, function, "i", tool)
                         : PyObject_CallMethod(monitoring, function, "il", tool, events_on);
    Py_XDECREF(done);
    PyErr_Clear();
    return done != NULL;
}

uint32_t sonde_flow_source_prepare(PyThreadState *state)
{
    Py_XSETREF(monitoring, Py_XNewRef(PySys_GetObject("monitoring")));
    if (!monitoring || !make_callbacks())
        return SONDE_FLOW_FAILED;
    Py_XSETREF(disable, PyObject_GetAttrString(monitoring, "DISABLE"));
    if (!disable)
        return SONDE_FLOW_FAILED;
    if (!take_tool())
        return SONDE_FLOW_NO_TOOL;
    for (size_t i = 0; i < EVENTS; i++) {
        PyObject **slot = &state->interp->monitoring_callables[tool][events[i].event];
        Py_XSETREF(*slot, Py_NewRef(callbacks[i]));
    }
    if (disabled_any) { // by a run before: those of other tools come once more, which they expect
        PyObject *done = PyObject_CallMethod(monitoring, "restart_events", NULL);
        Py_XDECREF(done);
        PyErr_Clear();
        disabled_any = false;
    }
    return SONDE_FLOW_RECORDED;
}

bool sonde_flow_source_on(PyThreadState *state)
{
    (void)state;
    long on = 0;
    for (size_t i = 0; i < EVENTS; i++)
        if (is_asked(i) && events[i].event != PY_MONITORING_EVENT_C_RETURN &&
            events[i].event != PY_MONITORING_EVENT_C_RAISE) // they come with CALL
            on |= 1L << events[i].event;
    return call_tool("set_events", on);
}

void sonde_flow_source_off(PyThreadState *state)
{
    (void)state;
    if (tool >= 0)
        call_tool("set_events", 0);
}

void sonde_flow_source_release(PyThreadState *state)
{
    if (tool >= 0) {
        call_tool("set_events", 0);
        for (size_t i = 0; i < EVENTS; i++)
            Py_CLEAR(state->interp->monitoring_callables[tool][events[i].event]);
        call_tool("free_tool_id", -1);
    }
    tool = -1;
    Py_CLEAR(monitoring);
    Py_CLEAR(disable);
}

#endif
