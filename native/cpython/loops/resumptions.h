// Who awaits a task or a future, and whom a callback resumes.
//
// All of these are called with the GIL. No code of the program runs; what is returned is borrowed.
#ifndef SONDE_CPYTHON_RESUMPTIONS_H
#define SONDE_CPYTHON_RESUMPTIONS_H

#include <Python.h>

// The task that awaits a future: one that its callback wakes, else one that a future behind its
// callbacks wakes, as gather, wait and task groups have them. NULL: none was found.
PyObject *sonde_awaiter_of(PyObject *future);
// The same by one callback of the future.
PyObject *sonde_awaiter_behind(PyObject *callback, PyObject *future);
// The task that a callback which another thread hands to the loop will resume: it sets the result
// of a future, which is its object or its first argument, or NULL.
PyObject *sonde_resumed_by(PyObject *callback, PyObject *argument);

// What the calling thread has run for an executor; NULL: nothing. A new reference.
PyObject *sonde_executed_function(void);

#endif
