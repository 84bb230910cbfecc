// The task that the calling thread runs, as the runtime's hooks of event loops know it.
#ifndef SONDE_CORE_CURRENT_TASK_H
#define SONDE_CORE_CURRENT_TASK_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    uint64_t id;            // never used twice in a process; 0: none
    _Atomic uint8_t *noted; // set to 1 when a record of that task is written; NULL: nobody asks
} sonde_task;

// Read by handlers of the same thread.
extern _Thread_local sonde_task sonde_current_task __attribute__((tls_model("initial-exec")));

#endif
