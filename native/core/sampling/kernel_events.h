// Events of the kernel or the processor (page faults, cache misses, tracepoints …), each with the
// stack that caused it, and with the data that it is about.
#ifndef SONDE_CORE_KERNEL_EVENTS_H
#define SONDE_CORE_KERNEL_EVENTS_H

#include "core/session/session.h"

#include <ucontext.h>

typedef struct {
    uint64_t type, offset; // as in sonde_rec_data
    uint8_t memory;
} sonde_data;

// What is at an address. Runs under the memory guard, in a signal handler.
typedef void sonde_find_data(sonde_thread *thread, uintptr_t address, sonde_data *found);

void sonde_events_install(sonde_find_data *find);

typedef struct {
    uint64_t sig_data, address, time;
    bool stale; // the stack is no longer the one that caused it
} sonde_event_signal;

void sonde_on_event(sonde_thread *thread, const ucontext_t *context, const sonde_event_signal *by);

// Signals of one number do not queue: that of an event which came with a tick's is lost. Writes
// what shows in the thread's own counts.
void sonde_events_missed(sonde_thread *thread, const ucontext_t *context, uint64_t now);

// At the beginning and at the end of every handler.
void sonde_events_entered(sonde_thread *thread);
void sonde_events_left(sonde_thread *thread);

// Which of sonde_thread.armed_by an event is.
static inline uint64_t sonde_armed_place(uint64_t sig_data)
{
    uint64_t kind = sig_data & SONDE_SIG_KIND;
    if (kind != SONDE_SIG_EVENT)
        return kind == SONDE_SIG_SWITCH;
    return 2 + (sig_data >> SONDE_SIG_WHICH_SHIFT) % SONDE_MAX_EVENTS;
}

#endif
