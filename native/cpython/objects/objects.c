#include "cpython/objects/objects.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/hooks/library_loads.h"
#include "core/session/records.h"
#include "cpython/objects/allocation_hooks.h"
#include "cpython/objects/native_memory.h"
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

// CPU times of the program's threads that have a slot. The process's own clock would be late by the
// scheduler's tick for each of them that runs, which may be several windows.
#define MAX_CLOCKS 64u

typedef struct {
    uint32_t tid[MAX_CLOCKS];
    uint64_t cpu[MAX_CLOCKS];
    uint64_t agent[MAX_CLOCKS]; // of it, what sampling used
    uint64_t process;
} clocks_t;

// What the program itself used of the CPU time since it was last asked: not what sampling used,
// most of it in windows. A thread that was not known then counts from now on.
static uint64_t used_cpu(clocks_t *clocks)
{
    uint64_t process = sonde_clock(CLOCK_PROCESS_CPUTIME_ID);
    int64_t sum = 0;
    uint32_t slots = atomic_load(&sonde.header->slots_used);
    for (uint32_t i = 0; i < slots && i < MAX_CLOCKS; i++) {
        uint32_t tid = atomic_load(&sonde.slots[i].tid);
        if (!tid || tid == SONDE_NOTES_TID)
            continue;
        uint64_t agent = sonde.slots[i].agent_ns;
        uint64_t cpu = sonde_clock(sonde_cpu_clock_of((pid_t)tid));
        if (clocks->tid[i] == tid && cpu >= clocks->cpu[i] && agent >= clocks->agent[i])
            sum += (int64_t)(cpu - clocks->cpu[i]) - (int64_t)(agent - clocks->agent[i]);
        clocks->tid[i] = tid;
        clocks->cpu[i] = cpu;
        clocks->agent[i] = agent;
    }
    if (slots > MAX_CLOCKS)
        sum = (int64_t)(process - clocks->process);
    clocks->process = process;
    return sum > 0 ? (uint64_t)sum : 0;
}

// The share of the program's CPU time in which windows were open. Not of all time: where the
// processor is taken away, neither the program runs nor a window opens.
#define REPORT_NS 250000000u
typedef struct {
    uint64_t since, cpu, open_ns; // since the last report
} share_t;

// A process may end at any time.
static void keep(const share_t *share)
{
    atomic_store(&sonde.header->object_open_ns, share->open_ns);
    atomic_store(&sonde.header->object_cpu_ns, share->cpu);
}

static void report(share_t *share, bool at_once)
{
    uint64_t now = sonde_now();
    if (!share->open_ns || (!at_once && now - share->since < REPORT_NS))
        return;
    sonde_thread *notes = sonde_notes_borrow();
    if (!notes)
        return;
    if (sonde_write_object_share(notes, now, share->open_ns, share->cpu))
        *share = (share_t){now, 0, 0};
    keep(share);
    sonde_notes_leave();
}

// Where windows found nothing to sample for a while, as in numeric code, there are fewer of them,
// and each is open for so much longer: the share of time is the same. What is allocated then is
// sampled as before, and the first sample ends it.
#define QUIET_WINDOWS 32u
#define MAX_LONGER 3u // doubled so many times

typedef struct {
    uint32_t taken, quiet; // samples until then; windows in a row without one
} quiet_t;

static uint32_t doublings(quiet_t *seen)
{
    uint32_t taken = sonde_object_taken_in_windows();
    seen->quiet = taken == seen->taken ? seen->quiet + 1 : 0;
    seen->taken = taken;
    uint32_t times = seen->quiet / QUIET_WINDOWS;
    return times < MAX_LONGER ? times : MAX_LONGER;
}

// Each period has one window, at a random place: none is likelier to meet a phase of the program.
static void *open_windows(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t period = sonde_now(), random = period | 1;
    share_t share = {period, 0, 0};
    static clocks_t clocks;
    used_cpu(&clocks);
    quiet_t seen = {0};
    while (!sonde_worker_is_stopping(&worker)) {
        uint32_t longer = doublings(&seen);
        uint64_t open_for = (uint64_t)OPEN_NS << longer, of = (uint64_t)PERIOD_NS << longer;
        random = random * 6364136223846793005u + 1442695040888963407u;
        sleep_until(period + (random >> 33) % (of - open_for + 1));
        share.cpu += used_cpu(&clocks);
        uint64_t opened = sonde_now();
        sonde_object_set_window(SONDE_WINDOW_OPEN);
        sonde_allocation_window(true);
        sleep_until(opened + open_for);
        sonde_allocation_window(false);
        sonde_object_set_window(SONDE_WINDOW_CLOSED);
        uint64_t open = used_cpu(&clocks), now = sonde_now();
        share.cpu += open;
        share.open_ns += open;
        keep(&share);
        // A window stays open until this thread gets its processor: its CPU time is measured, and
        // no part of it may be guessed, since the program often runs at once or not at all. So
        // many periods as a long window takes are without another one.
        uint64_t periods = (now - opened + open_for / 2) / open_for;
        period += of * (periods ? periods : 1);
        period = period > now ? period : now;
        sleep_until(period);
        report(&share, false);
        sonde_exit_if_last();
    }
    report(&share, true);
    return NULL;
}

// ---- sessions

static void library_loaded(const char *file)
{
    (void)file;
    sonde_native_memory_hook();
}

// Once the hooks are in place.
static void begin(void)
{
    started = true;
    atomic_store(&sonde.header->objects, SONDE_OBJECTS_SAMPLED);
    sonde_library_loads_watch(library_loaded);
    if (WINDOWS)
        sonde_worker_start(&worker);
}

void sonde_objects_start(void)
{
    if (!(sonde.config.what & SONDE_WHAT_OBJECTS))
        return;
    sonde_countdown_set_mean(SONDE_SMALL, EVERY * NOMINAL_SHARE);
    sonde_countdown_set_mean(SONDE_LARGE, EVERY);
    sonde_object_set_window(WINDOWS ? SONDE_WINDOW_CLOSED : SONDE_WINDOW_NONE);
    if (!sonde_allocation_hooks_start(WINDOWS)) {
        atomic_store(&sonde.header->objects, SONDE_OBJECTS_ALLOCATOR);
        return;
    }
    sonde_native_memory_hook();
    sonde_library_loads_hook(&PyCode_Type);
    begin();
}

static void leave(void)
{
    sonde_library_loads_leave(library_loaded);
    sonde_native_memory_unhook();
    sonde_allocation_hooks_stop();
}

void sonde_objects_stop(void)
{
    if (!started)
        return;
    if (WINDOWS)
        sonde_worker_stop(&worker);
    leave();
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
    sonde_countdown_forked();
    if (WINDOWS) // one may have been open
        sonde_object_set_window(SONDE_WINDOW_CLOSED);
    if (followed)
        begin();
    else
        leave();
}
