// Since when each callback in a loop's queue has been ready: a ring beside its deque, which is
// first in, first out.
//
// All of these are called with the GIL. Where a deque has other entries than we saw, those are
// unknown.
#ifndef SONDE_CPYTHON_READY_QUEUE_H
#define SONDE_CPYTHON_READY_QUEUE_H

#include "core/session/session.h"

#include <Python.h>
#include <stdbool.h>

typedef struct {
    uint64_t ready; // 0: unknown
    uint64_t waker; // the task that made it ready, 0: none
    uint8_t why;    // of SONDE_WOKEN_*
} sonde_readiness;

#define SONDE_RECENT_STEPS 16u
typedef struct {
    uint64_t begin, end;
    uint64_t *caused; // where it counts what others waited
} sonde_recent_step;

typedef struct {
    PyObject *deque; // not ours: only compared, unless a hook was called with it
    uint64_t used;   // the last time that anything was put into it or taken out
    uint32_t head, count;
    sonde_readiness *entries;
    bool stepping;               // one of its callbacks runs
    uint64_t added, added_times; // callbacks made ready meanwhile, and the sum of when
    sonde_recent_step recent[SONDE_RECENT_STEPS];
    uint32_t last_recent;
    uint8_t runtime; // of SONDE_LOOP_*
    uint32_t tid;
    // Since the last record.
    uint64_t reported, waited, longest;
    uint32_t steps;
    uint32_t lags[SONDE_LAG_BUCKETS];
} sonde_queue;

// The queue of a deque; the one that was unused for longest is given away if there are too many.
// NULL: there is no memory.
sonde_queue *sonde_queue_of(PyObject *deque, uint64_t now);
void sonde_queue_push(sonde_queue *queue, PyObject *deque, sonde_readiness entry);
// Of the entry that has just left the deque.
sonde_readiness sonde_queue_pop(sonde_queue *queue, PyObject *deque);

// A callback of the loop began after a wait.
void sonde_queue_waited(sonde_queue *queue, uint64_t wait);
// Writes how long callbacks waited since the last record of it.
void sonde_queue_report(sonde_thread *thread, sonde_queue *queue, uint64_t now);
void sonde_queues_report(sonde_thread *thread, uint64_t now);

void sonde_queues_clear(void);

#endif
