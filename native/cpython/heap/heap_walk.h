// All objects of the process, written to a file.
#ifndef SONDE_CPYTHON_HEAP_HEAP_WALK_H
#define SONDE_CPYTHON_HEAP_HEAP_WALK_H

#include <stdbool.h>
#include <stdint.h>

// Shared with the process that the walk is about; the walk writes.
typedef struct {
    _Atomic uintptr_t object; // the one whose references are being looked at
    uint64_t objects, edges, left_out, interpreters_left_out, walk_ns;
    int error; // an errno
    _Atomic bool complete;
} heap_progress;

// Whether lists of objects are being taken apart, as during a collection: then a walk must wait.
// The caller holds the GIL.
bool sonde_heap_is_collecting(void);
// In a copy of the process; only system calls and tp_traverse.
void sonde_heap_walk(int fd, heap_progress *progress);

#endif
