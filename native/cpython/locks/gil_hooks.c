#define _GNU_SOURCE
#include "cpython/locks/gil_hooks.h"

#include "core/base/clock.h"
#include "core/hooks/waiter_table.h"
#include "cpython/locks/gil_state.h"
#include "cpython/locks/lock_events.h"

#include <stddef.h>

typedef struct _gil_runtime_state gil_t;

#define TLS _Thread_local __attribute__((tls_model("initial-exec")))
static TLS struct {
    gil_t *waiting_for;
    uint64_t since, sequence;
    unsigned long switches; // of the GIL, when the wait began
    bool reported;          // that it waits
    bool is_long;           // and that it does for long
} wait_;

// A wait that takes this long, or for ever, is reported while it lasts, and the GIL holder with it:
// C code that does not release it reports nothing itself.
#define LONG_NS 100000000u
// What to write once the GIL's mutex is free again: while it is held all threads stop.
static TLS struct {
    pthread_mutex_t *mutex;
    gil_t *gil;
    uint64_t sequence;
    enum { NOTHING, ACQUIRED, RELEASED } what;
    bool drafted;
    sonde_lock_draft draft; // of a wait that may begin, or of LET_GO
} pending;

// A draft is begun and ended by different hooks: there are none before all are in place.
static _Atomic bool drafting;

void sonde_gil_draft(bool on) { atomic_store(&drafting, on); }

// The interpreter waits for nothing else with a time limit on a condition. Not every GIL is that of
// the interpreter this thread is known by: it may be on its way into another one.
static gil_t *gil_of(pthread_cond_t *cond, const pthread_mutex_t *mutex)
{
    gil_t *gil = (gil_t *)((char *)cond - offsetof(gil_t, cond));
    return mutex == &gil->mutex ? gil : NULL;
}

// We hold the GIL's mutex: no thread takes or releases the GIL meanwhile.
static void report_long_wait(gil_t *gil)
{
    uint64_t lock = (uint64_t)(uintptr_t)gil;
    wait_.is_long = true;
    wait_.reported = wait_.reported || sonde_lock_report(SONDE_LOCK_WAIT_BEGIN, SONDE_KIND_GIL,
                                                         lock, wait_.sequence, wait_.since);
    if (!wait_.reported)
        return;
    // A holder that was asked to release it and has not for so long is in C code, and its frames do
    // not move. Any other holder runs while we would read them, and reports its release itself.
    if (gil->switch_number == wait_.switches)
        sonde_lock_report_owner(SONDE_KIND_GIL, lock, wait_.since);
}

int sonde_gil_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    gil_t *gil = gil_of(cond, mutex);
    if (!gil)
        return pthread_cond_timedwait(cond, mutex, until);
    bool drafted = pending.drafted;
    if (drafted) {
        pending.drafted = false;
        pending.mutex = NULL;
    }
    if (wait_.waiting_for != gil) {
        wait_.waiting_for = gil;
        wait_.is_long = false;
        wait_.since = sonde_now();
        wait_.sequence = sonde_lock_sequence((uint64_t)(uintptr_t)gil);
        wait_.switches = gil->switch_number;
        wait_.reported = drafted; // else it is reported as a whole when it is over
        if (drafted)
            sonde_lock_commit(&pending.draft, wait_.sequence, wait_.since);
    } else if (drafted) {
        sonde_lock_drop(&pending.draft);
    } else if (!wait_.is_long && sonde_now() - wait_.since > LONG_NS) {
        report_long_wait(gil);
    }
    bool entered = sonde_wait_begin(cond, (uint64_t)(uintptr_t)gil, SONDE_KIND_GIL) != NULL;
    int result = pthread_cond_timedwait(cond, mutex, until);
    if (entered)
        sonde_wait_end(cond);
    // We hold the mutex: a GIL that is free now is ours.
    if (!sonde_gil_is_locked(gil)) {
        pending.mutex = mutex;
        pending.gil = gil;
        pending.what = ACQUIRED;
    }
    return result;
}

// These are separate from their hooks, which would else save registers for them on every call.

// The mutex is taken to release the GIL, or to acquire it. A thread that releases it and soon wants
// it back gets it before another has woken up. Whatever it does in between makes that less likely,
// and the GIL alternates: a walk of half a microsecond there made programs a fifth slower. A thread
// that has waited for it makes all others wait while it walks, with cold caches. So both walk here,
// before.
__attribute__((noinline)) static int lock_seen(pthread_mutex_t *mutex)
{
    gil_t *gil = (gil_t *)((char *)mutex - offsetof(gil_t, mutex));
    // A thread that takes back a free GIL must not be delayed: most threads know one GIL only.
    if (pending.gil == gil && !sonde_gil_is_locked(gil))
        return pthread_mutex_lock(mutex);
    const sonde_waiter *waited = atomic_load(&drafting) ? sonde_find_waiter(&gil->cond) : NULL;
    if (waited && waited->kind == SONDE_KIND_GIL && waited->lock == (uint64_t)(uintptr_t)gil &&
        sonde_gil_is_locked(gil)) {
        bool ours = sonde_gil_holder(gil) == PyGILState_GetThisThreadState();
        pending.drafted =
            sonde_lock_prepare(&pending.draft, ours ? SONDE_LOCK_RELEASED : SONDE_LOCK_WAIT_BEGIN,
                               SONDE_KIND_GIL, waited->lock);
        if (pending.drafted) {
            pending.mutex = mutex;
            pending.gil = gil;
            pending.what = NOTHING; // until it is
        }
    }
    return pthread_mutex_lock(mutex);
}

__attribute__((noinline)) static int signal_seen(pthread_cond_t *cond)
{
    if (pending.drafted && pending.draft.type == SONDE_LOCK_RELEASED &&
        cond == &pending.gil->cond) {
        pending.sequence = sonde_lock_sequence((uint64_t)(uintptr_t)pending.gil);
        pending.what = RELEASED;
        return pthread_cond_signal(cond);
    }
    sonde_waiter *waited = sonde_find_waiter(cond);
    int result = pthread_cond_signal(cond);
    if (waited && waited->kind == SONDE_KIND_GIL) {
        gil_t *gil = (gil_t *)(uintptr_t)waited->lock;
        // The same condition signals nothing else; the switch condition has another address.
        if (cond == &gil->cond) {
            pending.mutex = &gil->mutex;
            pending.gil = gil;
            pending.sequence = sonde_lock_sequence(waited->lock);
            pending.what = RELEASED;
        }
    }
    return result;
}

__attribute__((noinline)) static int unlock_and_report(pthread_mutex_t *mutex)
{
    pending.mutex = NULL;
    bool drafted = pending.drafted;
    pending.drafted = false;
    gil_t *gil = pending.gil;
    uint64_t now = sonde_now(), lock = (uint64_t)(uintptr_t)gil;
    int result = pthread_mutex_unlock(mutex);
    if (drafted && pending.what == RELEASED && pending.draft.type == SONDE_LOCK_RELEASED) {
        sonde_lock_commit(&pending.draft, pending.sequence, now);
        return result;
    }
    if (drafted)
        sonde_lock_drop(&pending.draft);
    if (pending.what == RELEASED) { // the waiter came late
        sonde_lock_report(SONDE_LOCK_RELEASED, SONDE_KIND_GIL, lock, pending.sequence, now);
    } else if (pending.what == ACQUIRED) {
        wait_.waiting_for = NULL;
        if (wait_.reported)
            sonde_lock_report(SONDE_LOCK_ACQUIRED, SONDE_KIND_GIL, lock, sonde_lock_sequence(lock),
                              now);
        else
            sonde_lock_report_wait(SONDE_KIND_GIL, lock, wait_.since, wait_.sequence, now);
    }
    return result;
}

int sonde_gil_signal(pthread_cond_t *cond)
{
    return sonde_anybody_waits() ? signal_seen(cond) : pthread_cond_signal(cond);
}

int sonde_gil_lock(pthread_mutex_t *mutex)
{
    return sonde_anybody_waits() ? lock_seen(mutex) : pthread_mutex_lock(mutex);
}

int sonde_gil_unlock(pthread_mutex_t *mutex)
{
    if (__builtin_expect(pending.mutex == mutex, 0))
        return unlock_and_report(mutex);
    return pthread_mutex_unlock(mutex);
}
