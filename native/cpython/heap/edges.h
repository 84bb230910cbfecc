// The references of one object, with what they are called.
#ifndef SONDE_CPYTHON_HEAP_EDGES_H
#define SONDE_CPYTHON_HEAP_EDGES_H

#include "cpython/heap/layouts.h"
#include "cpython/heap/region_map.h"
#include "cpython/heap/stream.h"

extern uint32_t sonde_heap_edge_count; // of the object that is being written

static inline void heap_edge_to(PyObject *target, uint32_t kind, uint32_t label)
{
    heap_edge *edge = heap_room(HEAP_EDGES, sizeof *edge);
    *edge = (heap_edge){heap_want(target), label, kind};
    sonde_heap_edge_count++;
}

// All of an object; the caller has set the count to 0.
void sonde_heap_edges(PyObject *object);
// The local variables and the stack of a frame, and what else a running one refers to.
void sonde_heap_frame_edges(const frame_t *frame);

#endif
