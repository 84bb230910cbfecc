#include "cpython/loops/task_entries.h"

#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/coroutine.h"

sonde_task_entry *sonde_task_entry_of(PyObject *task, PyObject *coroutine,
                                      const sonde_readiness *woken, uint64_t started, uint64_t now)
{
    bool fresh = coroutine && sonde_coroutine_state_of(coroutine) == SONDE_COROUTINE_CREATED;
    sonde_task_entry *entry = sonde_task_find(task);
    if (entry && (entry->about != coroutine || (fresh && entry->last_end))) {
        sonde_task_remove(entry); // of a task that died
        entry = NULL;
    }
    if (entry)
        return entry;
    entry = sonde_task_add(task, SONDE_TASK_TASK, now);
    if (!entry)
        return NULL;
    entry->about = coroutine;
    if (fresh) {
        entry->created = woken->ready ? woken->ready : now;
        entry->parent = woken->waker;
    } else {
        entry->last_end = started; // it has been suspended since
    }
    return entry;
}

sonde_task_entry *sonde_callback_entry_of(PyObject *callback, uint64_t now)
{
    PyObject *function = sonde_callback_function(callback);
    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    const void *key = Py_TYPE(function), *about = NULL;
    if (PyFunction_Check(function)) {
        key = PyFunction_GET_CODE(function);
        about = ((const PyCodeObject *)key)->co_qualname;
    } else if (PyCFunction_Check(function)) {
        key = ((PyCFunctionObject *)function)->m_ml;
    }
    sonde_task_entry *entry = sonde_task_find(key);
    if (entry && entry->about != about) { // another code at the address of one that died
        sonde_task_remove(entry);
        entry = NULL;
    }
    if (!entry && (entry = sonde_task_add(key, SONDE_TASK_CALLBACK, now)))
        entry->about = about;
    return entry;
}

sonde_task_entry *sonde_group_add(const sonde_task_entry *entry, PyCodeObject *code, uint64_t now)
{
    const void *key = (const char *)code + 1; // no object's address
    sonde_task_entry *group = sonde_task_find(key);
    if (group && group->about != code->co_qualname) {
        sonde_task_remove(group);
        group = NULL;
    }
    if (!group && (group = sonde_task_add(key, SONDE_TASK_GROUP, now)))
        group->about = code->co_qualname;
    if (!group)
        return NULL;
    group->running += entry->running;
    group->ready += entry->ready;
    group->suspended += entry->suspended;
    group->caused += entry->caused;
    group->steps += entry->steps;
    group->tasks++;
    group->last_end = now;
    return group;
}

PyCodeObject *sonde_finished_code(PyObject *coroutine)
{
    if (!PyCoro_CheckExact(coroutine))
        return NULL;
#if PY_VERSION_HEX >= 0x030C0000
    PyCodeObject *code = PyGen_GetCode((PyGenObject *)coroutine);
    Py_XDECREF(code); // the coroutine keeps it
    return code;
#else
    return ((PyGenObject *)coroutine)->gi_code;
#endif
}
