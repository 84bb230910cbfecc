// A copy of the process that walks over the heap while the original goes on.
#ifndef SONDE_CPYTHON_HEAP_WALKER_PROCESS_H
#define SONDE_CPYTHON_HEAP_WALKER_PROCESS_H

#include "cpython/heap/heap_walk.h"

#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    heap_progress *progress;
} heap_walker;

// The caller holds the GIL: the copy has what the lists of objects are at this moment. 0 or an
// errno.
int sonde_heap_walker_start(heap_walker *walker, int fd);
// Until it ends; it is ended if it has stayed at one object for that long, or if `is_wanted` says
// no. 0, or an errno: ETIMEDOUT, ECANCELED, EFAULT if it crashed. `type` is that of the last
// object, if it did not end well.
int sonde_heap_walker_wait(heap_walker *walker, uint64_t stuck_ns, bool (*is_wanted)(void),
                           char *type, size_t room);

#endif
