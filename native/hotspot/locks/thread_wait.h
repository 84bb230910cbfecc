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

// The virtual thread of this number leaves the calling thread, or comes back to one.
void sonde_lock_carrier_left(void);
void sonde_lock_carrier_taken(uint64_t number);

#endif
