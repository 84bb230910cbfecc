#include "cpython/calls/tool_id.h"

#include "cpython/calls/tool_hooks.h"

unsigned sonde_own_tools;

#if SONDE_HAS_MONITORING

static PyObject *set_events, *set_local_events;

// Not the hooked ones: their hooks would take the call for the program's.
static PyObject *function_of(const char *name)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); // borrowed
    PyObject *function = monitoring ? sonde_unhooked(monitoring, name) : NULL;
    return function || !monitoring ? function : PyObject_GetAttrString(monitoring, name);
}

int sonde_tool_acquire(PyInterpreterState *interpreter)
{
    static const int ids[] = {4, 3, 2, 5, 1, 0}; // the last three have a purpose by convention
    if (!set_events)
        set_events = function_of("set_events");
    if (!set_local_events)
        set_local_events = function_of("set_local_events");
    PyObject *name = PyUnicode_FromString("sonde");
    PyErr_Clear();
    for (size_t i = 0; name && set_events && set_local_events && i < sizeof ids / sizeof *ids; i++)
        if (!interpreter->monitoring_tool_names[ids[i]]) {
            interpreter->monitoring_tool_names[ids[i]] = name;
            sonde_own_tools |= 1u << ids[i];
            return ids[i];
        }
    Py_XDECREF(name);
    return -1;
}

void sonde_tool_release(PyInterpreterState *interpreter, int tool)
{
    for (int event = 0; event < _PY_MONITORING_EVENTS; event++)
        Py_CLEAR(interpreter->monitoring_callables[tool][event]);
    Py_CLEAR(interpreter->monitoring_tool_names[tool]);
    sonde_own_tools &= ~(1u << tool);
}

void sonde_tool_set_callback(PyInterpreterState *interpreter, int tool, int event,
                             PyObject *callback)
{
    PyObject *former = interpreter->monitoring_callables[tool][event];
    interpreter->monitoring_callables[tool][event] = Py_XNewRef(callback);
    Py_XDECREF(former);
}

bool sonde_tool_set_events(int tool, PyCodeObject *code, unsigned events)
{
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *number = PyLong_FromLong(tool), *wanted = PyLong_FromUnsignedLong(events);
    PyObject *of_code[] = {number, (PyObject *)code, wanted}, *of_all[] = {number, wanted};
    PyObject *done = !number || !wanted ? NULL
                     : code             ? PyObject_Vectorcall(set_local_events, of_code, 3, NULL)
                                        : PyObject_Vectorcall(set_events, of_all, 2, NULL);
    Py_XDECREF(number);
    Py_XDECREF(wanted);
    Py_XDECREF(done);
    PyErr_SetRaisedException(raised);
    return done;
}

#endif
