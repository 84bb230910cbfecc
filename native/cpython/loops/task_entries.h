// Which entry of the table a step counts for.
#ifndef SONDE_CPYTHON_TASK_ENTRIES_H
#define SONDE_CPYTHON_TASK_ENTRIES_H

#include "cpython/loops/ready_queue.h"
#include "cpython/loops/task_table.h"

#include <Python.h>

// All of these are called with the GIL. NULL: there is no room.

// Of a task, which `woken` says who made. One that began before the session did, at `started`,
// counts as suspended since then.
sonde_task_entry *sonde_task_entry_of(PyObject *task, PyObject *coroutine,
                                      const sonde_readiness *woken, uint64_t started, uint64_t now);
// Of all calls of a callback's function.
sonde_task_entry *sonde_callback_entry_of(PyObject *callback, uint64_t now);
// A task that no record refers to is added to those of its coroutine function.
sonde_task_entry *sonde_group_add(const sonde_task_entry *entry, PyCodeObject *code, uint64_t now);
// The code of a coroutine that has returned; NULL if it is of another type.
PyCodeObject *sonde_finished_code(PyObject *coroutine);

#endif
