// The tasks and callbacks that a session has seen, and how their time is divided.
//
// All of these are called with the GIL. A task is known by its address as long as it may run; a
// callback by the function that it calls. Tasks die unseen: one that is made at the same address
// has another coroutine, or one that has not begun.
#ifndef SONDE_CPYTHON_TASK_TABLE_H
#define SONDE_CPYTHON_TASK_TABLE_H

#include "core/session/session.h"

#include <stdbool.h>

typedef struct {
    const void *key;
    const void *about; // of a task its coroutine, of a callback the name of its code; not ours
    uint64_t id;       // 0: the entry is free
    uint64_t parent, created;
    uint64_t last_end; // of a step; 0: none was seen
    uint64_t reported;
    uint64_t resumed;                // when what resumed it was last written
    uint64_t awaiter, awaiter_since; // the last one written, and when that was suspended
    uint64_t awaiter_sought;
    uint64_t late; // of the time that it seems suspended: its timer was due, the loop busy
    // Since the last record of its times.
    uint64_t running, ready, suspended, caused;
    uint32_t steps, tasks;
    uint32_t next_free;
    uint8_t kind; // of SONDE_TASK_*
    bool described, stepping;
    _Atomic uint8_t noted; // a record refers to it
} sonde_task_entry;

// The entry with this key; NULL: there is none.
sonde_task_entry *sonde_task_find(const void *key);
// A new one, with a number; NULL: there is no room.
sonde_task_entry *sonde_task_add(const void *key, uint8_t kind, uint64_t now);
void sonde_task_remove(sonde_task_entry *entry);

void sonde_tasks_each(void (*look)(sonde_task_entry *entry, void *arg), void *arg);
void sonde_tasks_clear(void);

#endif
