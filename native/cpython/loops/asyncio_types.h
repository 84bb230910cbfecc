// The types of asyncio and uvloop that hooks recognize, once the program has imported them.
#ifndef SONDE_CPYTHON_ASYNCIO_TYPES_H
#define SONDE_CPYTHON_ASYNCIO_TYPES_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

// All of these are called with the GIL. The types are those of the main interpreter.

// Looks for what was imported since, if anything was. No code of the program runs.
void sonde_asyncio_find(void);
void sonde_asyncio_forget(void);
bool sonde_asyncio_found(void);
// Has the program imported a version of uvloop whose handles are not known? Needs no interpreter.
bool sonde_uvloop_is_unknown(void);

enum sonde_handle { SONDE_NO_HANDLE, SONDE_HANDLE, SONDE_TIMER, SONDE_UVLOOP_HANDLE };
extern PyTypeObject *sonde_handle_types[4]; // Handle, TimerHandle, of other threads, uvloop's

static inline bool sonde_is_handle(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type == sonde_handle_types[0] || type == sonde_handle_types[1] ||
           type == sonde_handle_types[2] || type == sonde_handle_types[3];
}
static inline bool sonde_is_timer(PyObject *handle)
{
    return Py_TYPE(handle) == sonde_handle_types[1];
}
static inline bool sonde_is_uvloop_handle(PyObject *handle)
{
    return Py_TYPE(handle) == sonde_handle_types[3];
}

// When a timer was due, on the monotonic clock; 0: unknown.
uint64_t sonde_timer_due(PyObject *timer);

// The task that a callback takes a step of; NULL: it is another callback. Borrowed.
PyObject *sonde_task_of(PyObject *callback);
// A task's coroutine, borrowed: the task keeps it. NULL: unknown.
PyObject *sonde_task_coroutine(PyObject *task);
// A task's name; a new reference, or NULL.
PyObject *sonde_task_name(PyObject *task);
// What a handle calls, and the tuple of its arguments, NULL if that is unknown. Borrowed.
PyObject *sonde_handle_callback(PyObject *handle, PyObject **arguments);
// One of asyncio's C code.
bool sonde_is_future(PyObject *object);
bool sonde_is_task(PyObject *object);
// An attribute of the object itself, if no code of the program is in the way. A new reference.
PyObject *sonde_plain_attribute(PyObject *object, const char *name);
// What a functools.partial calls, with the arguments that it has; NULL: it is no partial. Borrowed.
PyObject *sonde_partial_function(PyObject *object, PyObject **arguments);
// The task that the first callback of a future wakes; NULL: it is none of asyncio's C code, or has
// other callbacks. Borrowed.
PyObject *sonde_future_awaiter(PyObject *future);
// What a functools.partial calls, and else the callback itself. Borrowed.
PyObject *sonde_callback_function(PyObject *callback);
// The callback of uvloop's handle, which calls it from C; NULL: unknown. Borrowed.
PyObject *sonde_uvloop_callback(PyObject *handle);

#endif
