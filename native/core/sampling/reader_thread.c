#define _GNU_SOURCE
#include "core/sampling/reader_thread.h"

#include "core/base/agent_thread.h"
#include "core/base/clock.h"
#include "core/base/processor.h"
#include "core/sampling/sigtrap.h"
#include "core/signals/fault_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS 4096
// Threads come and go; how often to look for new ones, and how long a thread that stays off the CPU
// is left alone between two looks at it.
#define LIST_NS 20000000u
#define LOOK_NS 50000000u
// Only checking threads that wait: how often, where threads report their waits themselves and where
// they do not.
#define WATCH_NS 100000000u
#define POLL_NS 5000000u
// How often to look at the program's signal handlers, which it may change unseen.
#define ACTIONS_NS 100000000u
// How soon a sampler sees that a pause is over.
#define PAUSED_NS 5000000u
// A thread may be moved to another core while we move to its old one; read across cores, it may
// call or return while it is walked, and soon does not.
#define TRIES 3
#define TRIES_ACROSS 12

typedef struct {
    uint32_t tid;
    void *state;
    sonde_thread *slot;
    uint64_t cpu;    // at the last tick
    uint64_t looked; // when it was last seen waiting
    uint64_t looked_cpu;
} watched;

static pthread_t thread;
static bool running;
enum { RUNS, STOPS, LOOKS }; // LOOKS: whether the program has a thread left
static _Atomic uint32_t stopping;
static uint32_t sampler; // of SONDE_SAMPLER_*; NONE: only watch those that wait
static bool polls;
static bool across; // cores: it is not ours to choose where we run
static watched *table;
static sonde_thread_ref *listed;
#define TABLE_SIZE (MAX_THREADS * (sizeof *table + sizeof *listed))
static const sonde_reader_ops *ops;
static int known;
static cpu_set_t allowed;

// ---- which threads exist

static watched *find(uint32_t tid)
{
    for (int i = 0; i < known; i++)
        if (table[i].tid == tid)
            return &table[i];
    return NULL;
}

static void refresh(void)
{
    int n = ops->list(listed, MAX_THREADS);
    if (n < 0)
        return;
    for (int i = 0; i < n; i++) {
        watched *w = find(listed[i].tid);
        uint64_t cpu = ops->cpu(listed[i].tid);
        if (!cpu) // it has ended, or never existed
            continue;
        if (w)
            // A thread with a state in several interpreters: the one it runs is the one that moves.
            w->state = w->state && w->cpu == cpu ? w->state : listed[i].state;
        else if (known < MAX_THREADS)
            table[known++] = (watched){.tid = listed[i].tid, .state = listed[i].state, .cpu = cpu};
    }
    for (int i = 0; i < known;) {
        bool listed_still = false;
        for (int k = 0; k < n && !listed_still; k++)
            listed_still = listed[k].tid == table[i].tid;
        if (listed_still)
            i++;
        else
            table[i] = table[--known];
    }
}

// The record that is fed for this thread; samplers claim one per thread, a mere watcher none.
static sonde_thread *record_of(watched *w)
{
    if (w->slot && atomic_load(&w->slot->slot->tid) == w->tid)
        return w->slot;
    return w->slot = sonde_slot_acquire(w->tid);
}

// ---- reading one thread

typedef struct {
    sonde_thread *to;
    void *state;
    sonde_event event;
    uint32_t depth;
    bool across, moved; // another frame was on top afterwards
} look_job;

static void look_body(void *arg)
{
    look_job *job = arg;
    const void *top = job->across ? ops->top(job->state) : NULL;
    job->depth = ops->walk(job->to, job->state, &job->event);
    job->moved = job->across && ops->top(job->state) != top;
}

// Walks the thread's frames; true if they did not move meanwhile. Across cores a thread runs while
// we read: there the best that can be said is that its top frame is the same afterwards.
static bool look(watched *w, look_job *job)
{
    uint64_t cpu = ops->cpu(w->tid);
    if (!cpu)
        return false;
    job->event.cpu = cpu;
    if (!sonde_guard_run(look_body, job)) {
        atomic_fetch_add(&sonde.header->faults, 1);
        return false;
    }
    if (job->event.flags & SONDE_UNDECODABLE)
        return false;
    return job->across ? !job->moved : ops->cpu(w->tid) == cpu;
}

// ---- sampling a running thread

static int core_of(uint32_t tid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%s/task/%u/stat", ops->proc, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at ? atoi(at + 1) : -1;
}

static bool move_to(int core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void sample_running(watched *w, uint64_t now)
{
    sonde_thread *to = record_of(w);
    if (!to)
        return;
    for (int i = 0; i < (across ? TRIES_ACROSS : TRIES); i++) {
        if (!across) {
            int core = core_of(w->tid);
            if (core >= 0 && core != sched_getcpu() && !move_to(core)) {
                across = true;
                if (sampler == SONDE_SAMPLER_READER) {
                    sampler = SONDE_SAMPLER_CROSS_CORE;
                    atomic_store(&sonde.header->reader_mode, sampler);
                }
            }
        }
        look_job job = {to, w->state, {.time = now, .state = SONDE_RUNNING}, 0, across, false};
        if (look(w, &job)) {
            // On one core with us it has not run since; across cores that is unknown.
            job.event.processor = across ? 0 : sonde_processor();
            sonde_write_stack(to, job.depth, &job.event);
            return;
        }
    }
    to->slot->lost++;
}

// ---- a thread that waits

static void see_waiting(watched *w, uint64_t now)
{
    bool same_wait = w->looked && w->looked_cpu == w->cpu;
    if (!(sonde_what() & SONDE_WHAT_WAITS) || (same_wait && now - w->looked < LOOK_NS))
        return;
    bool for_itself = sampler == SONDE_SAMPLER_READER || sampler == SONDE_SAMPLER_CROSS_CORE;
    sonde_thread *to = for_itself ? record_of(w) : sonde_notes_enter();
    if (!to)
        return;
    look_job job = {to, w->state, {.time = now, .state = SONDE_WAITING}, 0, false, false};
    if (!for_itself)
        job.event.tid = w->tid;
    if (look(w, &job)) {
        sonde_write_stack(to, job.depth, &job.event);
        w->looked = now;
        w->looked_cpu = w->cpu;
    }
    if (!for_itself)
        sonde_notes_leave();
}

// ---- the thread

// Until a time on the monotonic clock, or until stopped: the thread that stops a session holds the
// GIL.
static void wait_until(uint64_t time)
{
    struct timespec until = {(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
    syscall(SYS_futex, &stopping, FUTEX_WAIT_BITSET_PRIVATE, RUNS, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

static void wake(void)
{
    uint32_t runs = RUNS;
    if (atomic_compare_exchange_strong(&stopping, &runs, LOOKS))
        syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1);
}

static bool is_stopped(void)
{
    uint32_t looks = LOOKS;
    atomic_compare_exchange_strong(&stopping, &looks, RUNS);
    sonde_exit_if_last();
    return atomic_load(&stopping) == STOPS;
}

// Is this thread read by us, or does it sample itself?
static bool reads(uint32_t tid, uint32_t only)
{
    if (sampler == SONDE_SAMPLER_SAFEPOINT)
        return only && only != tid;
    return sampler != SONDE_SAMPLER_NONE;
}

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t next = sonde_now(), next_list = 0, next_look = 0, next_actions = 0;
    while (!is_stopped()) {
        next += sampler == SONDE_SAMPLER_NONE ? (polls ? POLL_NS : WATCH_NS)
                : sonde_what()                ? sonde_period()
                                              : PAUSED_NS;
        uint64_t now = sonde_now();
        if (next < now)
            next = now;
        wait_until(next);
        if (is_stopped())
            break;
        now = sonde_now();
        if (now >= next_actions) {
            sonde_trap_refresh();
            next_actions = now + ACTIONS_NS;
        }
        uint32_t only = 0;
        if (sampler == SONDE_SAMPLER_SAFEPOINT) {
            if (sonde_what() & SONDE_WHAT_CPU)
                only = ops->ask();
            atomic_store(&sonde.header->reader_cpu_ns, sonde_thread_cpu());
            if (!only && now < next_look)
                continue;
            next_look = now + POLL_NS;
        }
        if (now >= next_list) {
            refresh();
            next_list = now + LIST_NS;
        }
        for (int i = 0; i < known && atomic_load(&stopping) == RUNS; i++) {
            watched *w = &table[i];
            uint64_t cpu = ops->cpu(w->tid);
            bool ran = cpu != w->cpu;
            w->cpu = cpu;
            if (!cpu)
                continue;
            if (!ran)
                see_waiting(w, now);
            else if (reads(w->tid, only) && (sonde_what() & SONDE_WHAT_CPU))
                sample_running(w, sonde_now());
        }
        atomic_store(&sonde.header->reader_cpu_ns, sonde_thread_cpu());
    }
    return NULL;
}

int sonde_reader_start(const sonde_arm *arm, const sonde_reader_ops *with)
{
    ops = with;
    bool asks = arm->sampler == SONDE_SAMPLER_SAFEPOINT && ops->ask;
    bool samples =
        arm->sampler == SONDE_SAMPLER_READER || arm->sampler == SONDE_SAMPLER_CROSS_CORE || asks;
    if (!samples && !(sonde.config.what & SONDE_WHAT_WAITS)) // stays so, whatever is ordered later
        return 0;
    polls = !arm->wait_signals;
    sampler = samples ? arm->sampler : SONDE_SAMPLER_NONE;
    // Requesting what is already set shows whether requests are permitted at all: a recording must
    // not name the better sampler only because the two threads happened to be on one core.
    if (sampler == SONDE_SAMPLER_READER && (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
                                            sched_setaffinity(0, sizeof allowed, &allowed) != 0))
        sampler = SONDE_SAMPLER_CROSS_CORE;
    across = sampler == SONDE_SAMPLER_CROSS_CORE;
    atomic_store(&sonde.header->reader_mode, sampler);
    if (!table) {
        void *at = mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return ENOMEM;
        table = at;
        listed = (sonde_thread_ref *)(table + MAX_THREADS);
    }
    known = 0;
    atomic_store(&stopping, RUNS);
    int error = sonde_start_agent_thread(&thread, NULL, body, "sonde-reader", wake);
    running = !error;
    return error;
}

void sonde_reader_stop(void)
{
    if (!running)
        return;
    atomic_store(&stopping, STOPS);
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1);
    pthread_join(thread, NULL);
    running = false;
    void *at = table;
    table = NULL; // first: the program may fork meanwhile
    munmap(at, TABLE_SIZE);
}

void sonde_reader_forked(void) { running = false; }
