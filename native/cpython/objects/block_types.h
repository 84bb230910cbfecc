// What lies in a block of memory: an object of which type, read from its header.
#ifndef SONDE_CPYTHON_BLOCK_TYPES_H
#define SONDE_CPYTHON_BLOCK_TYPES_H

#include "core/session/session.h"

#include <Python.h>

// Bytes in front of an object of this type in its block: the collector's links, and pointers to its
// dictionary and weak references.
uint32_t sonde_bytes_before(const PyTypeObject *type);

// Is this a type? It may be any address.
bool sonde_is_type(const PyTypeObject *type);

#define SONDE_TYPE_NAME 256u
typedef struct {
    uintptr_t address;
    char type[SONDE_TYPE_NAME]; // what it is called
} sonde_found_object;

// The object in a block of `size` bytes; false if there is none. Such a block may hold anything, so
// this runs under the guard.
bool sonde_find_object(const void *block, size_t size, sonde_found_object *found);

// The id by which the recorder knows a type, reported at first sight; 0: there is no room. Of one
// that sonde_is_type has found: it runs under a guard of the caller's.
uint64_t sonde_report_type(sonde_thread *thread, const PyTypeObject *type);
// The same for a name.
uint64_t sonde_report_type_name(sonde_thread *thread, const char *name);

#endif
