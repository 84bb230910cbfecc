#include "cpython/calls/reported_calls.h"

#include "core/session/shm.h"
#include "cpython/calls/pending_calls.h"
#include "cpython/calls/tool_hooks.h"
#include "cpython/calls/tools.h"
#include "cpython/frames/c_callee.h"
#include "cpython/walk/walk.h"

#include <x86intrin.h>

#if CALLS_ARE_MONITORED

#define PY_START 1
#define CALL_ 16

static PyObject *set_events, *none, *name;
static PyObject *wanted[SONDE_SEE_ALL + 1]; // events
static PyObject *callbacks[2];              // of PY_START and CALL
static bool under_way;

// ---- callbacks; what they return must not be sys.monitoring.DISABLE

static PyObject *on_start(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sonde_call_event call = {.tsc = __rdtsc()};
    if (under_way && count > 0) {
        call.begins = (const PyCodeObject *)args[0];
        sonde_report_call(PyThreadState_Get(), &call);
    }
    Py_RETURN_NONE;
}

// Functions of Python are not C functions that return, however they are called.
static bool is_python(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable);
}

static void note_call(PyObject *const *args, bool reported)
{
    PyThreadState *state = PyThreadState_Get();
    Py_ssize_t index = PyLong_AsSsize_t(args[1]) / (Py_ssize_t)sizeof(_Py_CODEUNIT);
    sonde_pending_begins(state, sonde_cpython_top(state), index, reported);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sonde_call_event call = {.tsc = __rdtsc()};
    if (!under_way || count < 3)
        Py_RETURN_NONE;
    call.callable = args[2];
    note_call(args, !is_python(call.callable));
    if (sonde_is_native(call.callable))
        sonde_report_call(PyThreadState_Get(), &call);
    else
        sonde_announce_call(&call);
    Py_RETURN_NONE;
}

static PyMethodDef start_def = {"sonde_on_start", (PyCFunction)(void (*)(void))on_start,
                                METH_FASTCALL, NULL};
static PyMethodDef call_def = {"sonde_on_call", (PyCFunction)(void (*)(void))on_call, METH_FASTCALL,
                               NULL};

// ---- switching

// A window borrows a free tool id. Its name and callbacks are stored where the interpreter keeps
// them: sys.monitoring's functions would raise audit events. No code of the program sees them, for
// each function that shows them ends the window first (tool_hooks.h).
static const int callback_events[] = {PY_MONITORING_EVENT_PY_START, PY_MONITORING_EVENT_CALL};
static PyObject *replaced[2]; // what a former owner of the id has left

static bool borrow_tool(PyInterpreterState *interpreter)
{
    static const int ids[] = {4, 3, 2, 5, 1, 0}; // the last three have a purpose by convention
    for (size_t i = 0; i < sizeof ids / sizeof *ids && sonde_borrowed_tool < 0; i++)
        if (!interpreter->monitoring_tool_names[ids[i]])
            sonde_borrowed_tool = ids[i];
    if (sonde_borrowed_tool < 0)
        return false;
    interpreter->monitoring_tool_names[sonde_borrowed_tool] = Py_NewRef(name);
    for (int i = 0; i < 2; i++) {
        PyObject **slot =
            &interpreter->monitoring_callables[sonde_borrowed_tool][callback_events[i]];
        replaced[i] = *slot;
        *slot = Py_NewRef(callbacks[i]);
    }
    return true;
}

static void give_tool_back(PyInterpreterState *interpreter)
{
    if (sonde_borrowed_tool < 0)
        return;
    for (int i = 0; i < 2; i++) {
        PyObject **slot =
            &interpreter->monitoring_callables[sonde_borrowed_tool][callback_events[i]];
        Py_XDECREF(*slot);
        *slot = replaced[i];
    }
    Py_CLEAR(interpreter->monitoring_tool_names[sonde_borrowed_tool]);
    sonde_borrowed_tool = -1;
}

static bool set_to(PyObject *events)
{
    PyObject *tool = PyLong_FromLong(sonde_borrowed_tool);
    PyObject *args[] = {tool, events};
    PyObject *done = tool ? PyObject_Vectorcall(set_events, args, 2, NULL) : NULL;
    if (!done)
        PyErr_Clear();
    Py_XDECREF(tool);
    Py_XDECREF(done);
    return done;
}

bool sonde_reported_calls_begin(PyThreadState *state, sonde_call_scope how)
{
    sonde_reported_calls_end(state); // a tick may have ended a window whose events are still on
    if (!borrow_tool(state->interp))
        return false;
    under_way = set_to(wanted[how]);
    if (!under_way)
        give_tool_back(state->interp);
    return under_way;
}

void sonde_reported_calls_end(PyThreadState *state)
{
    if (!under_way)
        return;
    under_way = false;
    PyObject *raised = PyErr_GetRaisedException();
    set_to(none);
    PyErr_SetRaisedException(raised);
    give_tool_back(state->interp);
    sonde_pending_count(state->interp);
}

// Another thread that ends it takes it from its owner, see call_counter.c.
bool sonde_reported_calls_go_on(const PyThreadState *state)
{
    (void)state;
    return false;
}

// ---- between the interpreter and the program's tools

static const int hidden_events[] = {PY_MONITORING_EVENT_CALL, PY_MONITORING_EVENT_C_RETURN,
                                    PY_MONITORING_EVENT_C_RAISE};
#define HIDDEN 3
#define FILTERED_TOOLS (PROGRAM_TOOL_IDS + 1) // and that of sys.setprofile

static PyObject *filters[FILTERED_TOOLS][HIDDEN], *behind[FILTERED_TOOLS][HIDDEN];
static bool hiding;

static PyObject *on_event_of_program(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    long number = PyLong_AsLong(self);
    PyThreadState *state = PyThreadState_Get();
    bool calls = number % HIDDEN == 0;
    if (count >= 2 && calls) {
        note_call(args, false);
    } else if (count >= 2) {
        Py_ssize_t index = PyLong_AsSsize_t(args[1]) / (Py_ssize_t)sizeof(_Py_CODEUNIT);
        if (sonde_pending_returns(state, sonde_cpython_top(state), index))
            Py_RETURN_NONE;
    }
    PyObject *callback = Py_XNewRef(behind[number / HIDDEN][number % HIDDEN]);
    if (hiding && !sonde_pending_count(state->interp))
        sonde_pending_show(state);
    if (!callback)
        Py_RETURN_NONE;
    PyObject *result = PyObject_Vectorcall(callback, args, (size_t)count, NULL);
    Py_DECREF(callback);
    return result;
}

static PyMethodDef filter_def = {"sonde_on_event_of_program",
                                 (PyCFunction)(void (*)(void))on_event_of_program, METH_FASTCALL,
                                 NULL};

// They stay for good: the interpreter may be in the middle of calling one.
static bool make_filters(void)
{
    for (long number = 0; number < FILTERED_TOOLS * HIDDEN; number++) {
        PyObject **filter = &filters[number / HIDDEN][number % HIDDEN];
        PyObject *self = *filter ? NULL : PyLong_FromLong(number);
        if (self)
            *filter = PyCFunction_New(&filter_def, self);
        Py_XDECREF(self);
        if (!*filter)
            return false;
    }
    return true;
}

void sonde_pending_hide(PyThreadState *state)
{
    PyInterpreterState *interpreter = state->interp;
    if (hiding || !sonde_pending_count(interpreter) || sonde_tool_active(state) < 0)
        return;
    hiding = true;
    for (int tool = 0; tool < FILTERED_TOOLS; tool++)
        for (int i = 0; i < HIDDEN; i++) {
            PyObject **slot = &interpreter->monitoring_callables[tool][hidden_events[i]];
            behind[tool][i] = *slot;
            *slot = Py_NewRef(filters[tool][i]);
        }
}

void sonde_pending_show(PyThreadState *state)
{
    PyInterpreterState *interpreter = state->interp;
    if (!hiding)
        return;
    hiding = false;
    for (int tool = 0; tool < FILTERED_TOOLS; tool++)
        for (int i = 0; i < HIDDEN; i++) {
            PyObject **slot = &interpreter->monitoring_callables[tool][hidden_events[i]];
            Py_XDECREF(*slot);
            *slot = behind[tool][i];
            behind[tool][i] = NULL;
        }
}

// ---- once per session

static bool is_compiling(void)
{
    PyObject *jit = PySys_GetObject("_jit"); // borrowed; from 3.14 on
    PyObject *answer = jit ? PyObject_CallMethod(jit, "is_enabled", NULL) : NULL;
    bool compiles = answer == Py_True;
    PyErr_Clear();
    Py_XDECREF(answer);
    return compiles;
}

// The interpreter's own record of tools is where we take it to be: an id that is taken for a moment
// shows there, and so do its events.
static bool knows_layout(PyInterpreterState *interpreter, PyObject *monitoring)
{
    if (!borrow_tool(interpreter))
        return true; // unknown; no window opens before an id is free
    // Its hook would take the call for the program's, which may be the end of all hooks.
    PyObject *get_tool = sonde_unhooked(monitoring, "get_tool");
    PyObject *known = get_tool ? PyObject_CallFunction(get_tool, "i", sonde_borrowed_tool) : NULL;
    Py_XDECREF(get_tool);
    bool knows =
        known == name && set_to(wanted[SONDE_SEE_FRAMES]) &&
        interpreter->monitors.tools[PY_MONITORING_EVENT_PY_START] == 1 << sonde_borrowed_tool;
    if (known == name)
        set_to(none);
    give_tool_back(interpreter);
    Py_XDECREF(known);
    return knows;
}

static uint32_t prepare(PyObject *monitoring)
{
    PyThreadState *state = PyThreadState_Get();
    if (!monitoring)
        return SONDE_CALLS_FAILED;
    if (is_compiling()) // each window would throw away all that was compiled
        return SONDE_CALLS_COMPILED;
    set_events = sonde_unhooked(monitoring, "set_events");
    wanted[SONDE_SEE_FRAMES] = PyLong_FromLong(PY_START);
    wanted[SONDE_SEE_ALL] = PyLong_FromLong(PY_START | CALL_);
    none = PyLong_FromLong(0);
    name = PyUnicode_FromString("sonde");
    callbacks[0] = PyCFunction_New(&start_def, NULL);
    callbacks[1] = PyCFunction_New(&call_def, NULL);
    bool ready = set_events && wanted[SONDE_SEE_FRAMES] && wanted[SONDE_SEE_ALL] && none && name &&
                 callbacks[0] && callbacks[1] && make_filters();
    if (ready && sonde_tool_active(state) < 0)
        ready = knows_layout(state->interp, monitoring);
    return ready ? SONDE_CALLS_COUNTED : SONDE_CALLS_FAILED;
}

uint32_t sonde_reported_calls_prepare(void)
{
    PyObject *raised = PyErr_GetRaisedException();
    uint32_t result = prepare(PySys_GetObject("monitoring"));
    PyErr_Clear();
    if (result != SONDE_CALLS_COUNTED)
        sonde_reported_calls_forget();
    PyErr_SetRaisedException(raised);
    return result;
}

void sonde_reported_calls_forget(void)
{
    PyObject *raised = PyErr_GetRaisedException();
    Py_CLEAR(set_events);
    Py_CLEAR(wanted[SONDE_SEE_FRAMES]);
    Py_CLEAR(wanted[SONDE_SEE_ALL]);
    Py_CLEAR(none);
    Py_CLEAR(name);
    Py_CLEAR(callbacks[0]);
    Py_CLEAR(callbacks[1]);
    PyErr_SetRaisedException(raised);
}

#endif
