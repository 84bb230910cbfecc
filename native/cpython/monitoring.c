#include "seen_calls.h"

#include "../core/shm.h"
#include "callee.h"

#include <x86intrin.h>

#if CALLS_ARE_MONITORED

#define PY_START 1
#define CALL_ 16

static PyObject *set_events, *tool, *none;
static PyObject *wanted[SONDE_SEE_ALL + 1]; // events
static bool under_way;

// ---- callbacks; what they return must not be sys.monitoring.DISABLE

static PyObject *on_start(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sonde_seen_call call = {.tsc = __rdtsc()};
    if (under_way && count > 0) {
        call.begins = (const PyCodeObject *)args[0];
        sonde_call_seen(PyThreadState_Get(), &call);
    }
    Py_RETURN_NONE;
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    sonde_seen_call call = {.tsc = __rdtsc()};
    if (!under_way || count < 3)
        Py_RETURN_NONE;
    call.callable = args[2];
    if (sonde_is_native(call.callable))
        sonde_call_seen(PyThreadState_Get(), &call);
    else
        sonde_call_passed(&call);
    Py_RETURN_NONE;
}

static PyMethodDef start_def = {"sonde_on_start", (PyCFunction)(void (*)(void))on_start,
                                METH_FASTCALL, NULL};
static PyMethodDef call_def = {"sonde_on_call", (PyCFunction)(void (*)(void))on_call, METH_FASTCALL,
                               NULL};

// ---- switching

static bool set_to(PyObject *events)
{
    PyObject *args[] = {tool, events};
    PyObject *done = PyObject_Vectorcall(set_events, args, 2, NULL);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    return done;
}

bool sonde_told_calls_begin(PyThreadState *state, sonde_seeing how)
{
    (void)state;
    under_way = set_to(wanted[how]);
    return under_way;
}

void sonde_told_calls_end(PyThreadState *state)
{
    (void)state;
    if (under_way)
        set_to(none);
    under_way = false;
}

// Another thread that ends it takes it from its owner, see calls.c.
bool sonde_told_calls_go_on(const PyThreadState *state)
{
    (void)state;
    return false;
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

// 0, 1 and 5 are for debuggers, coverage and optimisers; 3 and 4 for nobody in particular.
static PyObject *free_tool(PyObject *monitoring)
{
    static const int ids[] = {4, 3, 2};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", ids[i], "sonde");
        if (done) {
            Py_DECREF(done);
            return PyLong_FromLong(ids[i]);
        }
        PyErr_Clear();
    }
    return NULL;
}

static bool call_back(PyObject *monitoring, int event, PyMethodDef *definition)
{
    PyObject *callback = definition ? PyCFunction_New(definition, NULL) : Py_NewRef(Py_None);
    PyObject *before = callback ? PyObject_CallMethod(monitoring, "register_callback", "OiO", tool,
                                                      event, callback)
                                : NULL;
    Py_XDECREF(callback);
    Py_XDECREF(before);
    return before;
}

static uint32_t prepare(PyObject *monitoring)
{
    if (!monitoring)
        return SONDE_CALLS_FAILED;
    if (is_compiling()) // each window would throw away all that was compiled
        return SONDE_CALLS_COMPILED;
    if (!(tool = free_tool(monitoring)))
        return SONDE_CALLS_NO_TOOL;
    set_events = PyObject_GetAttrString(monitoring, "set_events");
    wanted[SONDE_SEE_FRAMES] = PyLong_FromLong(PY_START);
    wanted[SONDE_SEE_ALL] = PyLong_FromLong(PY_START | CALL_);
    none = PyLong_FromLong(0);
    bool ready = set_events && wanted[SONDE_SEE_FRAMES] && wanted[SONDE_SEE_ALL] && none &&
                 call_back(monitoring, PY_START, &start_def) &&
                 call_back(monitoring, CALL_, &call_def);
    return ready ? SONDE_CALLS_COUNTED : SONDE_CALLS_FAILED;
}

uint32_t sonde_told_calls_prepare(void)
{
    PyObject *raised = PyErr_GetRaisedException();
    uint32_t result = prepare(PySys_GetObject("monitoring"));
    PyErr_Clear();
    if (result == SONDE_CALLS_FAILED)
        sonde_told_calls_forget();
    PyErr_SetRaisedException(raised);
    return result;
}

void sonde_told_calls_forget(void)
{
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *monitoring = PySys_GetObject("monitoring"); // borrowed
    if (tool && monitoring) {
        call_back(monitoring, PY_START, NULL);
        call_back(monitoring, CALL_, NULL);
        Py_XDECREF(PyObject_CallMethod(monitoring, "free_tool_id", "O", tool));
    }
    PyErr_Clear();
    Py_CLEAR(tool);
    Py_CLEAR(set_events);
    Py_CLEAR(wanted[SONDE_SEE_FRAMES]);
    Py_CLEAR(wanted[SONDE_SEE_ALL]);
    Py_CLEAR(none);
    PyErr_SetRaisedException(raised);
}

#endif
