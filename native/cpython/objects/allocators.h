// The interpreter's tables of allocation functions.
//
// Only functions are exchanged: the context of whoever was there before stays and is passed on. A
// function is exchanged only for the one that is expected, so that another tool's hooks are never
// removed, and without the GIL (3.12 and later).
#ifndef SONDE_CPYTHON_ALLOCATORS_H
#define SONDE_CPYTHON_ALLOCATORS_H

#include <Python.h>
#include <stdbool.h>

// The functions in place. Before 3.12 the caller of these three has the GIL.
PyMemAllocatorEx sonde_allocator(PyMemAllocatorDomain domain);
// Are all of `functions` in place?
bool sonde_allocator_is(PyMemAllocatorDomain domain, const PyMemAllocatorEx *functions);
// Those of `from` that are in place become those of `to`. How many of the four that were.
int sonde_allocator_exchange(PyMemAllocatorDomain domain, const PyMemAllocatorEx *from,
                             const PyMemAllocatorEx *to);

// Does the interpreter's own allocator, pymalloc, take small blocks from its pools and pass on what
// it does not know? If not, `why` is its name. The caller has the GIL.
bool sonde_allocator_is_pymalloc(const char **why);
// Is nothing but pymalloc in place: no hook of anybody?
bool sonde_allocators_are_plain(void);

#endif
