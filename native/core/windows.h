// Counter-based sampling of calls (Arnold & Grove, CGO 2005).
//
// A tick opens a window on the thread that runs: from there on every stride-th call is taken, the
// first after a random number of calls, until there are enough. How long that took in the thread's
// CPU time tells how dense calls are there: the analysis weighs windows by the inverse.
//
// The runtime sees the calls, and only while a window is open. Everything here is for the thread
// that the window is of, with its busy mark set.
#ifndef SONDE_WINDOWS_H
#define SONDE_WINDOWS_H

#include "trap.h"

#include <x86intrin.h>

// Asked at a tick for a window on the calling thread; in a signal handler.
typedef void sonde_open_window(sonde_thread *thread, const ucontext_t *context);

// Who is asked from now on; NULL: nobody.
void sonde_windows_by(sonde_open_window *open);

// At each tick of the thread's CPU clock, after the sample.
void sonde_windows_tick(sonde_thread *thread, const ucontext_t *context);

void sonde_window_open(sonde_thread *thread);

// A call was seen: is it to be taken?
static inline bool sonde_window_counts(sonde_window *window)
{
    if (--window->skip)
        return false;
    window->skip = window->stride;
    return true;
}

// What the caller has spent on the window's behalf since `tsc`.
static inline void sonde_window_spent(sonde_window *window, uint64_t tsc)
{
    window->own_tsc += __rdtsc() - tsc;
}

// Takes a call: the stack in sonde_stack, of `depth` frames, walked since `tsc`. True if it was the
// last one, and the window is closed.
bool sonde_window_take(sonde_thread *thread, uint32_t depth, const sonde_event *event,
                       uint64_t tsc);

// Ends a window before it has its samples: by its own thread.
void sonde_window_cut(sonde_thread *thread);

#endif
