#include "cpython/objects/objects.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/session/session.h"
#include "cpython/objects/allocation_hooks.h"
#include "cpython/objects/object_samples.h"

#include <Python.h>

// Bytes between two samples, on average.
#define EVERY (512 << 10)

// From 3.14 on a program of small objects runs 12 % slower where the interpreter calls its
// allocator through hooks, even if they do nothing (json.loads, GCC builds with profile-guided
// optimization; 3 % on 3.12). So there small blocks have hooks in short windows only, at random
// times, and are sampled so much more often in them.
#if PY_VERSION_HEX >= 0x030E0000
#define WINDOWS 1
#define PERIOD_NS 8000000u
#define OPEN_NS 1000000u
#else
#define WINDOWS 0
#define PERIOD_NS 2u
#define OPEN_NS 2u
#endif
#define NOMINAL_SHARE ((double)OPEN_NS / PERIOD_NS)

static bool started;

// ---- windows

static void *open_windows(void *unused);
static void wake(void);
static _Alignas(16) uint8_t worker_stack[128 << 10];
static sonde_worker worker = {.name = SONDE_THREAD_PREFIX "objects",
                              .body = open_windows,
                              .wake = wake,
                              .stack = worker_stack,
                              .stack_size = sizeof worker_stack};

static void wake(void) { sonde_worker_wake(&worker); }

static void sleep_until(uint64_t then)
{
    uint64_t now = sonde_now();
    if (then > now && !sonde_worker_is_stopping(&worker))
        sonde_worker_sleep(&worker, then - now);
}

// The share of the program's CPU time in which windows were open; the last seconds count most. Not
// of all time: where the processor is taken away, neither the program runs nor a window opens.
#define REMEMBERED_NS 2e9
typedef struct {
    double open, all;
} share_t;

static void learn(share_t *share, double open, uint64_t all)
{
    double kept = (double)all < REMEMBERED_NS ? 1 - (double)all / REMEMBERED_NS : 0;
    share->open = share->open * kept + open;
    share->all = share->all * kept + (double)all;
    if (share->open > 0)
        sonde_object_set_share(share->open / share->all);
}

static uint64_t used_cpu(void) { return sonde_clock(CLOCK_PROCESS_CPUTIME_ID); }

// Each period has one window, at a random place: none is likelier to meet a phase of the program.
static void *open_windows(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t period = sonde_now(), random = period | 1, before = used_cpu();
    share_t share = {NOMINAL_SHARE * REMEMBERED_NS / 100, REMEMBERED_NS / 100};
    while (!sonde_worker_is_stopping(&worker)) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        sleep_until(period + (random >> 33) % (PERIOD_NS - OPEN_NS + 1));
        uint64_t opened = sonde_now(), opened_cpu = used_cpu();
        sonde_object_set_window(opened + OPEN_NS);
        sonde_allocation_window(true);
        sleep_until(opened + OPEN_NS);
        sonde_allocation_window(false);
        sonde_object_set_window(0);
        uint64_t now = sonde_now(), closed = used_cpu();
        // If this thread gets its processor late, the window has ended all the same.
        double in_time = now - opened > OPEN_NS ? (double)OPEN_NS / (double)(now - opened) : 1;
        learn(&share, (double)(closed - opened_cpu) * in_time, closed - before);
        before = closed;
        period = period + PERIOD_NS > now ? period + PERIOD_NS : now;
        sleep_until(period);
        sonde_exit_if_last();
    }
    return NULL;
}

// ---- sessions

static void start(void)
{
    if (!(sonde.config.what & SONDE_WHAT_OBJECTS))
        return;
    sonde_countdown_set_mean(SONDE_SMALL, EVERY * NOMINAL_SHARE);
    sonde_countdown_set_mean(SONDE_LARGE, EVERY);
    sonde_object_set_share(NOMINAL_SHARE);
    sonde_object_set_window(WINDOWS ? 0 : UINT64_MAX);
    uint32_t state = sonde_allocation_hooks_start(WINDOWS);
    atomic_store(&sonde.header->objects, state);
    started = state == SONDE_OBJECTS_SAMPLED;
    if (started && WINDOWS)
        sonde_worker_start(&worker);
}

void sonde_objects_start(void) { start(); }

void sonde_objects_stop(void)
{
    if (!started)
        return;
    if (WINDOWS)
        sonde_worker_stop(&worker);
    sonde_allocation_hooks_stop();
    sonde_objects_look_at_all();
}

void sonde_objects_forget(void)
{
    if (started)
        sonde_blocks_clear();
    started = false;
}

void sonde_objects_forked(bool followed)
{
    if (!started)
        return;
    started = false;
    sonde_worker_forked(&worker);
    sonde_blocks_clear();
    sonde_allocation_hooks_stop();
    if (followed)
        start();
}
