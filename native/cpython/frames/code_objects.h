// Describes a code object to the recorder, once, when it is first seen.
//
// It is seen by the thread that runs it (or a reader of a thread that waits in it), so the object
// and the immutable strings it holds are alive: no reference is taken and no GIL needed. When a
// code object dies it leaves the table of seen ones, so that another one at the same address gets
// an id of its own.
#ifndef SONDE_CPYTHON_CODE_OBJECTS_H
#define SONDE_CPYTHON_CODE_OBJECTS_H

#include "core/session/session.h"

#include <Python.h>

// The id of `code`; 0 if there was no room to describe it.
uint64_t sonde_describe_code(sonde_thread *thread, PyCodeObject *code);

// Reports that `thread_object` (a threading.Thread) is called `name`; into the ring of `to`, whose
// producer the caller is, or from outside of any handler.
void sonde_write_thread_name(sonde_thread *to, PyObject *thread_object, PyObject *name);
void sonde_describe_thread(PyObject *thread_object, PyObject *name);

// Watch code objects die / stop watching.
void sonde_watch_code(void);
void sonde_unwatch_code(void);

#endif
