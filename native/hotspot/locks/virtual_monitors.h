// Virtual threads that wait for monitors: from 24 on they leave their carriers for a monitor, too.
// A thread that releases one wakes one thread of the VM's for all of them, which shows neither
// which monitor nor which thread.
#ifndef SONDE_HOTSPOT_VIRTUAL_MONITORS_H
#define SONDE_HOTSPOT_VIRTUAL_MONITORS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

bool sonde_virtual_leaves(uint64_t number);
// Forgets waits whose end was not seen; before a session.
void sonde_virtual_monitors_forget(void);
// Begins and ends in the events of a wait.
void sonde_virtual_monitor_begin(uint64_t number, uint64_t lock, uint32_t kind);
void sonde_virtual_monitor_end(uint64_t number, uint64_t lock);
// The lock of a virtual thread's wait that was begun; 0 if there is none.
uint64_t sonde_virtual_monitor_of(uint64_t number, uint32_t *kind);

// The thread that wakes them was found. The calling thread, which may be it, waits for this.
void sonde_virtual_waker_is(uint32_t tid);
void sonde_virtual_waker_waits(pthread_cond_t *cond);

// A condition variable is about to be signalled: finds the locks that the caller, whose record this
// is, thereby releases. How many.
#define SONDE_MAX_RELEASES 4
typedef struct {
    uint64_t lock;
    uint32_t kind;
} sonde_release;
uint32_t sonde_virtual_releases(const pthread_cond_t *cond, const void *record,
                                sonde_release found[SONDE_MAX_RELEASES]);

#endif
