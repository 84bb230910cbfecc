#define _GNU_SOURCE
#include "core/sampling/cpu_timers.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/sampling/sigtrap.h"
#include "core/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_TIMERS SONDE_MAX_SLOTS
// How often to look for new threads and at the recorder's orders; the threads are listed only if
// their number has changed, or at one look in so many.
#define LOOK_NS 20000000u
#define LIST_EVERY 10
// No recorder has emptied the rings for so long although samples were lost: it has ended.
#define ABANDONED_NS 10000000000u

#ifndef sigev_notify_thread_id // glibc before 2.41
#define sigev_notify_thread_id _sigev_un._tid
#endif

typedef struct {
    uint32_t tid;
    int timer;
    uint32_t listed; // number of the listing in which the thread was last seen
} cpu_timer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // of what follows
static cpu_timer timers[MAX_TIMERS];
static uint32_t timer_count;
static uint32_t listing;
static uint64_t period; // that they have; 0: disarmed
static bool running;

static void wake(void);
static void *body(void *unused);
static _Alignas(4096) char stack[256 << 10];
static sonde_worker worker = {
    .name = "sonde-timers", .body = body, .wake = wake, .stack = stack, .stack_size = sizeof stack};

// ---- one timer

// The system calls themselves: libc allocates memory for each timer.
static int create(uint32_t tid, int *timer)
{
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGTRAP;
    event.sigev_value.sival_ptr = (void *)(uintptr_t)&sonde_timer_tick;
    event.sigev_notify_thread_id = (pid_t)tid;
    return syscall(SYS_timer_create, sonde_cpu_clock_of((pid_t)tid), &event, timer) == 0 ? 0
                                                                                         : errno;
}

static void set_time(int timer)
{
    struct timespec step = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec spec = {step, step};
    syscall(SYS_timer_settime, timer, 0, &spec, NULL);
}

static cpu_timer *find(uint32_t tid)
{
    for (uint32_t i = 0; i < timer_count; i++)
        if (timers[i].tid == tid)
            return &timers[i];
    return NULL;
}

static void remove_timer(cpu_timer *at)
{
    syscall(SYS_timer_delete, at->timer);
    *at = timers[--timer_count];
}

static void add(uint32_t tid)
{
    int timer;
    if (timer_count == MAX_TIMERS || create(tid, &timer))
        return;
    timers[timer_count++] = (cpu_timer){tid, timer, listing};
    set_time(timer);
}

void sonde_cpu_timers_add_self(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    int saved = errno;
    pthread_mutex_lock(&mutex);
    if (running) {
        cpu_timer *old = find(tid); // of a thread that had the same id
        if (old)
            remove_timer(old);
        add(tid);
    }
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

// ---- which threads exist

static bool is_ours(uint32_t tid)
{
    char path[64], name[16] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; // it has ended
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n <= 0 || strncmp(name, SONDE_THREAD_PREFIX, strlen(SONDE_THREAD_PREFIX)) == 0;
}

static void is_there(uint32_t tid)
{
    pthread_mutex_lock(&mutex);
    cpu_timer *known = find(tid);
    if (known)
        known->listed = listing;
    pthread_mutex_unlock(&mutex);
    if (known || is_ours(tid))
        return;
    pthread_mutex_lock(&mutex);
    if (!find(tid)) // it may have added itself
        add(tid);
    pthread_mutex_unlock(&mutex);
}

// Without opendir(), which allocates.
static bool list_threads(void)
{
    static _Alignas(8) char entries[8192];
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return false;
    long n;
    while ((n = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            unsigned long tid = strtoul(entry->d_name, NULL, 10); // 0: the folder or its parent
            if (tid)
                is_there((uint32_t)tid);
            at += entry->d_reclen;
        }
    close(folder);
    return n == 0;
}

static void refresh(void)
{
    static nlink_t links;
    static uint32_t unlisted;
    struct stat tasks; // the links to a folder are its own two, and one from each folder in it
    bool changed = stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != links;
    if ((!changed && ++unlisted < LIST_EVERY) || atomic_load(&sonde_threads_starting))
        return;
    links = changed ? tasks.st_nlink : links;
    unlisted = 0;
    pthread_mutex_lock(&mutex);
    listing++;
    pthread_mutex_unlock(&mutex);
    if (!list_threads())
        return;
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < timer_count;)
        if (timers[i].listed == listing)
            i++;
        else
            remove_timer(&timers[i]);
    pthread_mutex_unlock(&mutex);
}

// ---- orders of the recorder

// Perf events vanish with the recorder; timers must be disarmed.
static struct {
    uint64_t emptied, lost, since;
} rings;

static bool is_abandoned(uint64_t now)
{
    uint64_t taken = 0, lost = 0;
    for (uint32_t i = 0; i < atomic_load(&sonde.header->slots_used); i++) {
        taken += atomic_load(&sonde.slots[i].tail);
        lost += sonde.slots[i].lost;
    }
    if (taken != rings.emptied || !rings.since) {
        rings.emptied = taken;
        rings.lost = lost;
        rings.since = now;
    }
    return lost > rings.lost && now - rings.since > ABANDONED_NS;
}

static void apply_orders(uint64_t now)
{
    bool wanted = (sonde_what() & SONDE_WHAT_CPU) && !is_abandoned(now);
    uint64_t ordered = wanted ? sonde_period() : 0;
    pthread_mutex_lock(&mutex);
    if (ordered != period) {
        period = ordered;
        for (uint32_t i = 0; i < timer_count; i++)
            set_time(timers[i].timer);
    }
    pthread_mutex_unlock(&mutex);
}

// ---- the thread

static void wake(void) { sonde_worker_wake(&worker); }

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    uint64_t counted = 0;
    while (!sonde_worker_is_stopping(&worker)) {
        sonde_exit_if_last();
        apply_orders(sonde_now());
        refresh();
        uint64_t used = sonde_thread_cpu();
        atomic_fetch_add(&sonde.header->reader_cpu_ns, used - counted);
        counted = used;
        sonde_worker_sleep(&worker, LOOK_NS);
    }
    return NULL;
}

static void delete_all(void)
{
    pthread_mutex_lock(&mutex);
    running = false;
    while (timer_count)
        remove_timer(&timers[timer_count - 1]);
    pthread_mutex_unlock(&mutex);
}

int sonde_cpu_timers_start(void)
{
    int timer, error = create((uint32_t)syscall(SYS_gettid), &timer);
    if (error)
        return error;
    syscall(SYS_timer_delete, timer);
    period = sonde_what() & SONDE_WHAT_CPU ? sonde_period() : 0;
    rings.since = 0;
    running = true; // first: threads that start meanwhile add themselves
    list_threads(); // now, and not when the thread gets a processor
    error = sonde_worker_start(&worker);
    if (error)
        delete_all();
    else
        atomic_store(&sonde.header->reader_mode, SONDE_SAMPLER_CPU_TIMER);
    return error;
}

void sonde_cpu_timers_stop(void)
{
    if (!running)
        return;
    sonde_worker_stop(&worker);
    delete_all();
}

void sonde_cpu_timers_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    mutex = fresh;
    running = false;
    sonde_worker_forked(&worker);
    timer_count = 0;
}
