// Writes what a probe has read: the value, its type and the stack.
#ifndef SONDE_CPYTHON_PROBE_VALUES_H
#define SONDE_CPYTHON_PROBE_VALUES_H

#include "core/session/session.h"

#include <Python.h>

// False: there was no room.
bool sonde_probe_write(sonde_thread *thread, uint32_t serial, PyObject *value);

#endif
