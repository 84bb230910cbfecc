#define _GNU_SOURCE
#include "core/protocol/attach_thread.h"

#include "core/session/session.h"
#include "cpython/frames/frames.h"
#include "cpython/session/agent.h"
#include "cpython/session/fork_warning.h"
#include "cpython/session/library_hooks.h"
#include "cpython/session/python_api.h"

#include <errno.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

#define UP_TRIES 600 // of 5 ms

// Reports the names of existing threads; the caller holds the GIL. A program that has not imported
// threading has none.
//
// A program of 500 threads would stop for milliseconds: the GIL is released after some of them.
#define NAMED_AT_ONCE 32

static void report_names(void)
{
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    if (!threading || !PyModule_Check(threading))
        return;
    PyObject *active = PyDict_GetItemString(PyModule_GetDict(threading), "_active");
    if (!active || !PyDict_CheckExact(active))
        return;
    PyObject *all = PyDict_Values(active);
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(all); i++) {
        sonde_agent_describe(PyList_GET_ITEM(all, i));
        if (i % NAMED_AT_ONCE == NAMED_AT_ONCE - 1)
            PyEval_RestoreThread(PyEval_SaveThread());
    }
    Py_XDECREF(all);
    PyErr_Clear();
}

// A process may be attached to while its interpreter starts.
static bool wait_until_up(void)
{
    struct timespec pause = {0, 5000000};
    for (int i = 0; i < UP_TRIES && !Py_IsInitialized(); i++)
        nanosleep(&pause, NULL);
    return Py_IsInitialized() && !interpreter_is_finalizing();
}

static int start(const char *path)
{
    if (!wait_until_up())
        return EAGAIN;
    PyGILState_STATE gil = PyGILState_Ensure();
    int error = sonde_agent_start(path, SONDE_ATTACH);
    if (!error) {
        report_names();
        sonde_python_api_offer();
    }
    PyGILState_Release(gil);
    return error;
}

static void stop(void)
{
    // A finalizing interpreter admits no thread any more; its process is about to end with all that
    // is ours.
    if (!Py_IsInitialized() || interpreter_is_finalizing())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    sonde_agent_leave();
    PyGILState_Release(gil);
}

static void report_new_names(void)
{
    if (interpreter_is_finalizing())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    sonde_libraries_watch_loaded();
    report_names();
    PyGILState_Release(gil);
}

static const sonde_attach_ops ops = {start, stop, report_new_names, sonde_forks_thread_ends,
                                     sonde_libraries_watch_loaded};

// Called with or without the GIL. 0 or an errno.
EXPORT int sonde_agent_attach(const char *path)
{
    // Before the thread exists: the program may fork at any time.
    int saved = errno;
    sonde_forks_watch();
    errno = saved;
    return sonde_attach_start(path, &ops);
}

#if PY_VERSION_HEX >= 0x030E0000
// Loaded by a script that the interpreter itself runs for us (remote debugging, 3.14): as an
// extension module, whose specification carries the argument. No module is made of it.
static PyObject *load(PyObject *spec, PyModuleDef *unused)
{
    (void)unused;
    PyObject *path = PyObject_GetAttrString(spec, "socket");
    const char *text = path ? PyUnicode_AsUTF8(path) : NULL;
    if (!text) {
        Py_XDECREF(path);
        return NULL;
    }
    sonde_agent_attach(text);
    Py_DECREF(path);
    Py_RETURN_NONE;
}

static PyModuleDef_Slot slots[] = {{Py_mod_create, load}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "sonde_agent", .m_slots = slots};

EXPORT PyObject *PyInit_sonde_agent(void) { return PyModuleDef_Init(&definition); }
#endif
