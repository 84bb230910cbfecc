// The values of strings, bytes and numbers, and the names of classes.
#ifndef SONDE_CPYTHON_HEAP_OBJECT_VALUE_H
#define SONDE_CPYTHON_HEAP_OBJECT_VALUE_H

#include "cpython/heap/layouts.h"

void sonde_heap_write_value(PyObject *object, uint32_t ref);
void sonde_heap_write_class(PyTypeObject *type, uint32_t ref);

#endif
