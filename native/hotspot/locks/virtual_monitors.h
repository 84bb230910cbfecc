// Virtual threads that wait for monitors: from 24 on they leave their carriers for a monitor, too.
// Who lets it go wakes one thread of the VM's for all of them, which tells neither which monitor
// nor whom.
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
// What a virtual thread waits for that was begun; 0 if it does not.
uint64_t sonde_virtual_monitor_of(uint64_t number, uint32_t *kind);

// The thread that wakes them was found. The calling thread, which may be it, waits for this.
void sonde_virtual_waker_is(uint32_t tid);
void sonde_virtual_waker_waits(pthread_cond_t *cond);

// A signal is about to be given: which locks it says are let go by the caller, whose record this
// is. How many.
#define SONDE_MAX_RELEASES 4
typedef struct {
    uint64_t lock;
    uint32_t kind;
} sonde_release;
uint32_t sonde_virtual_releases(const pthread_cond_t *cond, const void *record,
                                sonde_release found[SONDE_MAX_RELEASES]);

#endif
