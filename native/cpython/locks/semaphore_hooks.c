#define _GNU_SOURCE
#include "cpython/locks/semaphore_hooks.h"

#include "core/base/clock.h"
#include "core/hooks/got.h"
#include "core/hooks/library_loads.h"
#include "core/hooks/preexisting_table.h"
#include "core/hooks/waiter_table.h"
#include "core/session/session.h"
#include "cpython/frames/frames.h"
#include "cpython/locks/gil_hooks.h"
#include "cpython/locks/lock_events.h"
#include "cpython/locks/lock_owner.h"
#include "cpython/locks/preexisting_waits.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

// ---- one wait

typedef struct {
    uint64_t lock, since, sequence;
    uint32_t kind;
    bool reported; // that it began
} wait_t;

static wait_t wait_begins(uint32_t kind, uint64_t lock)
{
    wait_t wait = {lock, sonde_now(), sonde_lock_sequence(lock), kind, false};
    wait.reported = sonde_lock_report(SONDE_LOCK_WAIT_BEGIN, kind, lock, wait.sequence, wait.since);
    return wait;
}

static void wait_ends(const wait_t *wait, bool has_it)
{
    uint64_t now = sonde_now();
    if (wait->reported)
        sonde_lock_report(has_it ? SONDE_LOCK_ACQUIRED : SONDE_LOCK_GAVE_UP, wait->kind, wait->lock,
                          sonde_lock_sequence(wait->lock), now);
    else if (has_it) // it began in a pause, which may be over
        sonde_lock_report_wait(wait->kind, wait->lock, wait->since, wait->sequence, now);
}

// ---- semaphores: PyThread locks, and the parking lot behind PyMutex and PyEvent

typedef struct {
    uint64_t lock;
    uint32_t kind;
} subject;

// A thread that parks does so on a semaphore of its own, on its stack; the word before it is what
// it parks for (struct wait_entry, 3.13 to 3.15).
static uint64_t parked_for(const sem_t *sem) { return ((const uint64_t *)sem)[-1]; }

static subject subject_of(const sem_t *sem, const void *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    if ((uintptr_t)sem - (uintptr_t)frame < 4096)
        return (subject){parked_for(sem), SONDE_KIND_PARKED};
#else
    (void)frame;
#endif
    return (subject){(uint64_t)(uintptr_t)sem, SONDE_KIND_SEMAPHORE};
}

// After waiting this long a waiter looks for the lock holder: in a deadlock no release will ever
// report it. If no thread was blocked long enough to be read (the others may be looking, too),
// again a little later, and then after longer times.
static const uint32_t look_after_ms[] = {1000, 2, 7, 29, 113, 3000, 20, 12000, 50};

// Two that wait for each other since the same moment would find each other looking, repeatedly:
// each has a pace of its own, up to an eighth slower.
static uint64_t own_pace(uint64_t ns)
{
    uint32_t own = (uint32_t)((uint64_t)pthread_self() >> 12) * 0x9e3779b9u >> 22; // of 1024
    return ns + ns / 8 * own / 1024;
}

// With a thousand waiters not each of them may look when it wants to: one that has to ask again
// later sleeps at least this long.
#define ASK_AGAIN_NS 5000000u

// A waiter that gives up learns nothing from a release any more, so it looks as well. The overhead
// grows with the number of threads: after any time spent on it, no thread looks for a hundred times
// as long.
static void report_owner_at_times(subject about, uint64_t since)
{
    static _Atomic uint64_t next;
    uint64_t began = sonde_now();
    if (began < atomic_load_explicit(&next, memory_order_relaxed))
        return;
    sonde_lock_report_owner(about.kind, about.lock, since);
    atomic_store_explicit(&next, began + 100 * (sonde_now() - began), memory_order_relaxed);
}

// glibc has it from 2.30 on.
extern __typeof(sem_clockwait) sem_clockwait __attribute__((weak));

static int clock_wait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    if (sem_clockwait)
        return sem_clockwait(sem, clock, until);
    struct timespec now, wall;
    if (clock == CLOCK_REALTIME)
        return sem_timedwait(sem, until);
    if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0)
        return -1;
    wall.tv_sec += until->tv_sec - now.tv_sec;
    wall.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (wall.tv_nsec < 0) {
        wall.tv_nsec += 1000000000;
        wall.tv_sec--;
    } else if (wall.tv_nsec >= 1000000000) {
        wall.tv_nsec -= 1000000000;
        wall.tv_sec++;
    }
    return sem_timedwait(sem, &wall);
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

// Waits until `until`, for ever if that is NULL, looking around now and then.
static int wait_long(sem_t *sem, clockid_t clock, const struct timespec *until, subject about,
                     uint64_t since)
{
    size_t round = 0, rounds = sizeof look_after_ms / sizeof *look_after_ms;
    uint64_t pause = look_after_ms[0] * (uint64_t)1000000u;
    while (round < rounds) {
        struct timespec slice;
        if (clock_gettime(clock, &slice) != 0)
            break;
        uint64_t ns = (uint64_t)slice.tv_nsec + own_pace(pause);
        slice.tv_sec += (time_t)(ns / 1000000000u);
        slice.tv_nsec = (long)(ns % 1000000000u);
        if (until && before(until, &slice))
            break;
        int result = clock_wait(sem, clock, &slice);
        if (result == 0 || errno != ETIMEDOUT)
            return result;
        uint64_t asked = sonde_now();
        enum sonde_owner_answer answer = sonde_lock_report_owner(about.kind, about.lock, since);
        if (answer == SONDE_OWNER_FOUND)
            break;
        if (answer == SONDE_OWNER_LATER) {
            pause = sonde_owner_pause() + ASK_AGAIN_NS;
        } else if (++round < rounds) {
            since = asked; // what was seen until then did not help
            pause = look_after_ms[round] * (uint64_t)1000000u;
        }
    }
    return until ? clock_wait(sem, clock, until) : sem_wait(sem);
}

// One body for the three ways to wait; `call` is the real one, `long_call` the one that looks
// around.
#define WAIT(sem, call, long_call)                                                                 \
    do {                                                                                           \
        if (sem_trywait(sem) == 0)                                                                 \
            return 0;                                                                              \
        subject about = subject_of(sem, __builtin_frame_address(0));                               \
        if (!about.lock) /* the runtime's own bookkeeping */                                       \
            return call;                                                                           \
        sonde_waiter *entry = sonde_wait_begin(sem, about.lock, about.kind);                       \
        if (entry && sem_trywait(sem) == 0) { /* released before we entered */                     \
            sonde_wait_end(sem);                                                                   \
            return 0;                                                                              \
        }                                                                                          \
        wait_t wait = wait_begins(about.kind, about.lock);                                         \
        int result = long_call;                                                                    \
        int error = errno;                                                                         \
        if (result != 0 && error == ETIMEDOUT)                                                     \
            report_owner_at_times(about, wait.since);                                              \
        if (entry)                                                                                 \
            sonde_wait_end(sem);                                                                   \
        wait_ends(&wait, result == 0);                                                             \
        errno = error;                                                                             \
        return result;                                                                             \
    } while (0)

static int on_sem_wait(sem_t *sem)
{
    WAIT(sem, sem_wait(sem), wait_long(sem, CLOCK_MONOTONIC, NULL, about, wait.since));
}

static int on_sem_timedwait(sem_t *sem, const struct timespec *until)
{
    WAIT(sem, sem_timedwait(sem, until), wait_long(sem, CLOCK_REALTIME, until, about, wait.since));
}

static int on_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    WAIT(sem, clock_wait(sem, clock, until), wait_long(sem, clock, until, about, wait.since));
}

// Separate from the hook, which would else save registers for it on every call.
__attribute__((noinline)) static int post_seen(sem_t *sem)
{
    sonde_waiter *entry = sonde_find_waiter(sem);
    if (!entry)
        return sem_post(sem);
    // Read before the post: afterwards the waiter may have left, and its entry be another's. A
    // thread that parks uses the same place of its stack for one lock after another, so it is read
    // there.
    subject about = {entry->lock, entry->kind};
    if (about.kind == SONDE_KIND_PARKED)
        about.lock = parked_for(sem);
    uint64_t now = sonde_now();
    uint32_t owner = (uint32_t)(uintptr_t)pthread_self() >> 6;
    bool same_hold = sonde_is_same_hold(entry, owner, now);
    if (!same_hold)
        sonde_note_release(entry, owner, now);
    uint64_t sequence = same_hold ? 0 : sonde_lock_sequence(about.lock);
    int result = sem_post(sem);
    sonde_end_preexisting_wait(sem);
    if (!same_hold)
        sonde_lock_report(SONDE_LOCK_RELEASED, about.kind, about.lock, sequence, now);
    return result;
}

static int on_sem_post(sem_t *sem)
{
    return sonde_anybody_waits() ? post_seen(sem) : sem_post(sem);
}

// ---- semaphores between processes, of the _multiprocessing module

// glibc keeps a semaphore's value in the lower half of its first word and how many wait, in all
// processes, in the upper half (struct new_sem, since 2.21).
static bool anyone_waits(const sem_t *sem)
{
    return __atomic_load_n((const uint64_t *)sem, __ATOMIC_RELAXED) >> 32 != 0;
}

#define WAIT_SHARED(sem, call)                                                                     \
    do {                                                                                           \
        if (sem_trywait(sem) == 0)                                                                 \
            return 0;                                                                              \
        wait_t wait = wait_begins(SONDE_KIND_SHARED, (uint64_t)(uintptr_t)(sem));                  \
        int result = call;                                                                         \
        int error = errno;                                                                         \
        wait_ends(&wait, result == 0);                                                             \
        errno = error;                                                                             \
        return result;                                                                             \
    } while (0)

static int on_shared_wait(sem_t *sem) { WAIT_SHARED(sem, sem_wait(sem)); }

static int on_shared_timedwait(sem_t *sem, const struct timespec *until)
{
    WAIT_SHARED(sem, sem_timedwait(sem, until));
}

static int on_shared_post(sem_t *sem)
{
    if (!anyone_waits(sem))
        return sem_post(sem);
    uint64_t lock = (uint64_t)(uintptr_t)sem;
    uint64_t now = sonde_now(), sequence = sonde_lock_sequence(lock);
    int result = sem_post(sem);
    sonde_lock_report(SONDE_LOCK_RELEASED, SONDE_KIND_SHARED, lock, sequence, now);
    return result;
}

static const sonde_hook shared_hooks[] = {
    {"sem_wait", (void *)on_shared_wait},
    {"sem_timedwait", (void *)on_shared_timedwait},
    {"sem_post", (void *)on_shared_post},
};

static const char multiprocessing_module[] = "/_multiprocessing.";

static void hook_multiprocessing(void)
{
    sonde_got_hook(NULL, multiprocessing_module, shared_hooks,
                   sizeof shared_hooks / sizeof *shared_hooks);
}

static void library_loaded(const char *file)
{
    if (strstr(file, multiprocessing_module))
        hook_multiprocessing();
}

static const sonde_hook hooks[] = {
    {"pthread_cond_timedwait", (void *)sonde_gil_timedwait},
    {"pthread_cond_signal", (void *)sonde_gil_signal},
    {"pthread_mutex_lock", (void *)sonde_gil_lock},
    {"pthread_mutex_unlock", (void *)sonde_gil_unlock},
    {"sem_wait", (void *)on_sem_wait},
    {"sem_timedwait", (void *)on_sem_timedwait},
    {"sem_clockwait", (void *)on_sem_clockwait},
    {"sem_post", (void *)on_sem_post},
};

int sonde_locks_start(void)
{
    // An address inside the interpreter for which no executable's PLT substitutes: data, not code.
    int hooked = sonde_got_hook(&PyCode_Type, NULL, hooks, sizeof hooks / sizeof *hooks);
    hook_multiprocessing();
    sonde_library_loads_watch(library_loaded);
    sonde_library_loads_hook(&PyCode_Type);
    sonde_find_preexisting_waits();
    sonde_gil_draft(hooked > 0);
    return hooked < 0 ? EPERM : 0;
}

void sonde_locks_stop(void)
{
    sonde_gil_draft(false);
    sonde_library_loads_leave(library_loaded);
    sonde_got_unhook();
}

void sonde_locks_forked(void)
{
    sonde_waiters_forked();
    sonde_owner_forked();
}
