#define _GNU_SOURCE
#include "windows.h"

#include "clock.h"
#include "hot.h"

static _Atomic(sonde_open_window *) open_window;

void sonde_windows_by(sonde_open_window *open) { atomic_store(&open_window, open); }

SONDE_HOT void sonde_windows_tick(sonde_thread *thread, const ucontext_t *context)
{
    sonde_open_window *open = atomic_load_explicit(&open_window, memory_order_relaxed);
    if (!open || !(sonde_what() & SONDE_WHAT_CALLS))
        return;
    sonde_header *header = sonde.header;
    uint64_t every = atomic_load_explicit(&header->window_ns, memory_order_relaxed);
    sonde_window *window = &thread->window;
    window->due_ns += sonde_period();
    if (!every || window->due_ns < every)
        return;
    window->due_ns -= every; // the rest counts for the next: ticks need not be a part of it
    if (window->due_ns > every)
        window->due_ns = 0;
    open(thread, context);
}

static uint64_t random_word(sonde_window *window, uint64_t seed)
{
    // xorshift64*; the first seed differs from thread to thread and from run to run
    uint64_t x = window->random ? window->random : (seed ^ (uintptr_t)window) | 1;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    window->random = x;
    return x * 0x2545f4914f6cdd1du;
}

void sonde_window_open(sonde_thread *thread)
{
    sonde_window *window = &thread->window;
    sonde_header *header = sonde.header;
    uint32_t stride = atomic_load_explicit(&header->stride, memory_order_relaxed);
    uint32_t samples = atomic_load_explicit(&header->samples, memory_order_relaxed);
    window->number++;
    window->stride = stride ? stride : 1;
    window->left = samples ? samples : 1;
    window->taken = 0;
    window->own_tsc = window->told_tsc = 0;
    window->interpreter = 0;
    atomic_store_explicit(&window->cut_cpu, 0, memory_order_relaxed);
    window->tsc = __rdtsc();
    window->opened = sonde_now();
    // Each call of the window is to have the same chance.
    window->skip = 1 + (uint32_t)((random_word(window, window->tsc) >> 32) % window->stride);
    window->cpu = sonde_thread_cpu();
    window->open = true;
    thread->slot->windows++;
}

// By the window's own clocks.
static double ns_of(const sonde_window *window, uint64_t tsc, uint64_t passed)
{
    uint64_t ticks = __rdtsc() - window->tsc;
    return ticks ? (double)tsc * (double)passed / (double)ticks : 0;
}

// What of the window's CPU time was ours. The processor's counter goes on while somebody else has
// the processor, for far longer than we ever take: if that fell into what we counted, it comes out
// again.
static double own_ns(const sonde_window *window, uint64_t passed, uint64_t lasted)
{
    double own = ns_of(window, window->own_tsc, passed);
    double away = passed > lasted ? (double)(passed - lasted) : 0;
    return own > away ? own - away : own;
}

// In the densest code there is, empty functions in a loop, being told of calls takes about three
// quarters of the time. But how long it takes is an estimate of one moment: so much taken off would
// let a small error of it decide how much dense parts weigh.
#define LEAST_PART 0.4

static double net_ns(double others, double told)
{
    return others - told > LEAST_PART * others ? others - told : LEAST_PART * others;
}

static void close_(sonde_thread *thread, uint64_t until_cpu, uint8_t how)
{
    sonde_window *window = &thread->window;
    window->open = false;
    uint64_t lasted = until_cpu > window->cpu ? until_cpu - window->cpu : 0;
    uint64_t passed = sonde_now() - window->opened;
    double own = own_ns(window, passed, lasted), told = ns_of(window, window->told_tsc, passed);
    double net = net_ns((double)lasted > own ? (double)lasted - own : 0, told);
    thread->slot->agent_ns += (uint64_t)(own + told);
    sonde_rec_window *out = sonde_ring_reserve(&thread->ring, sizeof *out);
    if (!out) { // its calls have no weight then
        thread->slot->calls_lost += window->taken;
        return;
    }
    *out = (sonde_rec_window){.rec = {sizeof *out, SONDE_REC_WINDOW, how, 0},
                              .time = window->opened,
                              .duration_ns = net > 1 ? (uint64_t)net : 1,
                              .window = window->number,
                              .stride = window->stride,
                              .interpreter = window->interpreter};
    sonde_ring_commit(&thread->ring, sizeof *out);
}

bool sonde_window_take(sonde_thread *thread, uint32_t depth, const sonde_event *event, uint64_t tsc)
{
    sonde_window *window = &thread->window;
    sonde_write_call(thread, depth, event->flags);
    window->interpreter = event->interpreter;
    window->taken++;
    sonde_window_spent(window, tsc);
    if (--window->left)
        return false;
    close_(thread, sonde_thread_cpu(), SONDE_WINDOW_FULL);
    return true;
}

void sonde_window_cut(sonde_thread *thread)
{
    uint64_t cpu = atomic_load_explicit(&thread->window.cut_cpu, memory_order_relaxed);
    close_(thread, cpu ? cpu : sonde_thread_cpu(), SONDE_WINDOW_CUT);
}
