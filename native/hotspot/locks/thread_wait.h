// The wait for a monitor that the calling thread is in, so that a hook knows whose sleep it is.
#ifndef SONDE_HOTSPOT_THREAD_WAIT_H
#define SONDE_HOTSPOT_THREAD_WAIT_H

#include "hotspot/locks/notifications.h"

#include <stdint.h>

typedef struct {
    uint64_t lock;
    uint32_t kind, place;
    sonde_notice notice;
    // After Object.wait: the monitor it takes back, and what it sleeps on if that is taken.
    uint64_t again;
    const void *again_on;
} sonde_thread_wait;

extern _Thread_local sonde_thread_wait sonde_current_wait
    __attribute__((tls_model("initial-exec")));

// The last monitor for which the calling thread had to sleep, and when; for who comes to hold it.
typedef struct {
    uint64_t lock, asked, got;
} sonde_contended;
extern _Thread_local sonde_contended sonde_contended_monitor
    __attribute__((tls_model("initial-exec")));

// How often the calling thread waited for a condition, which released a lock it held.
extern _Thread_local uint32_t sonde_condition_waits __attribute__((tls_model("initial-exec")));

// The virtual thread of this number leaves the calling thread, or comes back to one.
void sonde_lock_carrier_left(void);
void sonde_lock_carrier_taken(uint64_t number);

#endif
