// Counter-based sampling of calls (Arnold & Grove, CGO 2005).
//
// A tick opens a window on the thread that runs: from there on every stride-th call is taken, on
// average, until there are enough. How long that took in the thread's CPU time shows how dense
// calls are there: the analysis weights windows by the inverse.
//
// The runtime sees the calls, and only while a window is open. Everything here is for the thread
// that the window is of, with its busy mark set.
#ifndef SONDE_CORE_CALL_WINDOWS_H
#define SONDE_CORE_CALL_WINDOWS_H

#include "core/session/records.h"

#include <ucontext.h>
#include <x86intrin.h>

// Asked at a tick for a window on the calling thread; in a signal handler.
typedef void sonde_open_window(sonde_thread *thread, const ucontext_t *context);

// Sets which function is asked from now on; NULL: none.
void sonde_windows_set_opener(sonde_open_window *open);

// At each tick of the thread's CPU clock, after the sample.
void sonde_windows_tick(sonde_thread *thread, const ucontext_t *context);

// Windows in which all calls are seen may cost far more than those with calls between functions of
// the runtime's own language only: in the long run one in so many is of that kind. At first it is
// every other one, since a short recording would hardly have any.
#define SONDE_ALL_EVERY 64
#define SONDE_ALL_AT_FIRST 32

// All calls of C functions come from these few. So they count more of the calls they see anyway,
// which adds little overhead to seeing them: up to so many times as many, and last as long.
#define SONDE_ALL_FINER 4

// Whether the thread's next window is to show all calls.
bool sonde_window_shows_all(const sonde_window *window);

void sonde_window_open(sonde_thread *thread, bool all);

// From `tsc` on calls are about to be seen.
void sonde_window_begins(sonde_window *window, uint64_t tsc);

// The interrupted program continues with cold caches and branch predictors: right after the tick
// its calls take up to three times as long, and dense code, which is only a few microseconds in a
// window, would seem sparser than it is. So a window that has begun first warms up, for a fixed
// time of the program's, in which no call counts. To be called once, after all that it took to
// begin.
void sonde_window_warm_up(sonde_window *window);
// Was this call made after that? It is not to be counted otherwise. `passed`: calls that were made
// since this was last asked, and not asked about.
bool sonde_window_is_warm(sonde_window *window, uint64_t tsc, uint32_t passed);

// In a window that is warm now, calls follow each other at this distance of the processor's
// counter: the runtime has measured it in the warm-up, undisturbed. From now on `made` is its count
// of calls, and the time they take is known from it.
void sonde_window_pace(sonde_window *window, double call_tsc);

#define SONDE_MAX_STRIDE (1u << 16)

// A call was seen: is it to be taken, by sonde_window_take?
static inline bool sonde_window_counts(sonde_window *window) { return --window->skip == 0; }

// Nothing that we do takes as long: the counter continues while another thread is on CPU.
#define SONDE_MAX_OVERHEAD_TSC 500000u

// The agent spent this time on the window's behalf.
static inline void sonde_window_add_overhead(sonde_window *window, uint64_t tsc)
{
    if (tsc < SONDE_MAX_OVERHEAD_TSC)
        window->overhead_tsc += tsc;
}

// And by the caller since `tsc`.
static inline void sonde_window_add_overhead_since(sonde_window *window, uint64_t tsc)
{
    sonde_window_add_overhead(window, __rdtsc() - tsc);
}

// Takes a call that was seen at `tsc`: the stack in sonde_stack, of `depth` frames. What was done
// since is ours. True if it was the last one, and the window is closed.
bool sonde_window_take(sonde_thread *thread, uint32_t depth, const sonde_event *event,
                       uint64_t tsc);

// Ends a window before it has its samples: by its own thread.
void sonde_window_cut(sonde_thread *thread);
// And by another thread, which has taken the GIL, so that the CPU clock of the window's own thread
// does not advance: records that it ended now. Its own thread will cut it.
void sonde_window_cut_by_another(sonde_thread *thread);

#endif
