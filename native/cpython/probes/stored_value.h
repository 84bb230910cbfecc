// Reading values where the interpreter keeps them. Nothing here runs code of the program: no
// getter, no __getattr__, no __getitem__, no comparison of keys other than strings and whole
// numbers. The GIL is held.
#ifndef SONDE_CPYTHON_STORED_VALUE_H
#define SONDE_CPYTHON_STORED_VALUE_H

#include "cpython/frames/frames.h"

typedef struct {
    PyObject *value; // a new reference; NULL: there is none,
    int failure;     // for this reason, of SONDE_PROBE_*
} sonde_stored;

// The variable `name` of a frame that runs `code`; `local` is its place in it, -1: it has none.
sonde_stored sonde_stored_variable(const frame_t *frame, const PyCodeObject *code, int local,
                                   PyObject *name);
// The place of the variable in code objects, -1 if it is none of theirs.
int sonde_stored_local(const PyCodeObject *code, PyObject *name);

// `name` is a str that is interned.
sonde_stored sonde_stored_attribute(PyObject *object, PyObject *name);
// Of a list or tuple by index, of a dict by that number or (`key` is not NULL) by that str.
sonde_stored sonde_stored_item(PyObject *object, Py_ssize_t index, PyObject *key);
// The length of a built-in container; -1: it is none.
Py_ssize_t sonde_stored_length(PyObject *object);

#endif
