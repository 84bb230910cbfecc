// What an object takes up in memory, with what it has allocated for itself alone.
#ifndef SONDE_CPYTHON_HEAP_OBJECT_SIZE_H
#define SONDE_CPYTHON_HEAP_OBJECT_SIZE_H

#include "cpython/heap/layouts.h"

// Runs no code of the object's: what its type has in __sizeof__ counts where it is known here.
size_t sonde_heap_size(PyObject *object);
// Elements that a container has room for, and has; 0 if that follows from its contents.
typedef struct {
    size_t room, used;
} heap_capacity;
heap_capacity sonde_heap_capacity(PyObject *object);

#endif
