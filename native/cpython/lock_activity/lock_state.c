#include "cpython/lock_activity/lock_state.h"

#include "core/session/shm.h"

static bool call(PyObject *lock, const char *method)
{
    PyObject *result = PyObject_CallMethod(lock, method, NULL);
    Py_XDECREF(result);
    return result != NULL;
}

static bool lock_is_known(PyObject *lock)
{
    return Py_TYPE(lock)->tp_basicsize == (Py_ssize_t)sizeof(sonde_lock_object) &&
           !sonde_lock_is_held(lock, false) && call(lock, "acquire") &&
           sonde_lock_is_held(lock, false) && sonde_lock_is_taken(lock, false) &&
           call(lock, "release") && !sonde_lock_is_held(lock, false) &&
           !sonde_lock_is_taken(lock, false);
}

static bool rlock_is_known(PyObject *lock)
{
    return Py_TYPE(lock)->tp_basicsize == (Py_ssize_t)sizeof(sonde_rlock_object) &&
           !sonde_lock_is_held(lock, true) && call(lock, "acquire") &&
           sonde_rlock_is_outermost(lock) && sonde_lock_is_taken(lock, true) &&
           call(lock, "acquire") && sonde_rlock_is_mine(lock) && !sonde_rlock_is_outermost(lock) &&
           call(lock, "release") && sonde_rlock_is_outermost(lock) && call(lock, "release") &&
           !sonde_lock_is_held(lock, true) && !sonde_lock_is_taken(lock, true);
}

bool sonde_lock_types_find(sonde_lock_types *types)
{
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *lock = module ? PyObject_CallMethod(module, "allocate_lock", NULL) : NULL;
    PyObject *rlock = lock ? PyObject_CallMethod(module, "RLock", NULL) : NULL;
    bool known = rlock && lock_is_known(lock) && rlock_is_known(rlock);
    if (known) // the module keeps its types alive, and with them the methods
        *types = (sonde_lock_types){Py_TYPE(lock), Py_TYPE(rlock)};
    PyErr_Clear();
    Py_XDECREF(rlock);
    Py_XDECREF(lock);
    Py_XDECREF(module);
    return known;
}
