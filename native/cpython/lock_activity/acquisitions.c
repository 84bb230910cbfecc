#define _GNU_SOURCE
#include "cpython/lock_activity/acquisitions.h"

#include "core/base/clock.h"
#include "core/session/records.h"
#include "cpython/lock_activity/lock_state.h"
#include "cpython/lock_activity/sampled_holds.h"
#include "cpython/walk/walk.h"

#include <errno.h>

bool sonde_attempt_begin(sonde_attempt *attempt, PyObject *lock, bool reentrant)
{
    if (!sonde_acquisition_is_sampled())
        return false;
    bool taken = sonde_lock_is_taken(lock, reentrant);
    bool recursive = reentrant && sonde_rlock_is_mine(lock);
    *attempt = (sonde_attempt){sonde_now(), reentrant, taken && !recursive, recursive};
    return true;
}

static uint64_t write_sample(sonde_thread *thread, const sonde_attempt *attempt, uint64_t lock,
                             uint64_t counted, bool followed)
{
    uint64_t now = sonde_now();
    sonde_event stack = {0};
    uint32_t depth = sonde_cpython_walk_guarded(thread, &stack);
    uint64_t id = followed && !attempt->recursive ? sonde_hold_begin(lock) : 0;
    int flags = (attempt->contended ? SONDE_ACQUIRED_CONTENDED : 0) |
                (attempt->recursive ? SONDE_ACQUIRED_RECURSIVE : 0) |
                (attempt->reentrant ? SONDE_ACQUIRED_REENTRANT : 0);
    sonde_rec_lock_sample sample = {
        .rec = {.state = (uint8_t)flags, .flags = stack.flags},
        .time = now,
        .lock = lock,
        .id = id,
        .wait_ns = now - attempt->began,
        .every = sonde_acquisitions_every(),
        .counted = counted < UINT32_MAX ? (uint32_t)counted : UINT32_MAX,
        .interpreter = stack.interpreter,
        .kind = PY_VERSION_HEX >= 0x030E0000 ? SONDE_KIND_PARKED : SONDE_KIND_SEMAPHORE,
        .span = stack.span,
        .spin_ns = SONDE_NO_SPIN,
    };
    uint64_t since;
    if (!sonde_write_lock_sample(thread, depth, &sample)) {
        if (id)
            sonde_hold_end(lock, &id, &since);
        return counted; // for the next one
    }
    if (id) // our own time is none of the hold's
        sonde_hold_set_since(lock, id, sonde_now());
    return 0;
}

void sonde_attempt_succeeded(const sonde_attempt *attempt, PyObject *lock, bool followed)
{
    uint64_t counted = sonde_acquisition_take();
    if (!counted)
        return; // the counting ended while the thread waited
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        uint64_t address = sonde_lock_address(lock, attempt->reentrant);
        sonde_acquisition_keep(write_sample(thread, attempt, address, counted, followed));
        sonde_leave(thread);
    }
    errno = saved;
}

void sonde_lock_releases(PyObject *lock, bool reentrant)
{
    uint64_t id, since;
    if (!sonde_hold_end(sonde_lock_address(lock, reentrant), &id, &since))
        return;
    int saved = errno;
    uint64_t now = sonde_now();
    sonde_thread *thread = sonde_enter();
    if (thread) {
        if (now >= since)
            sonde_write_lock_hold_end(thread, id, now - since);
        sonde_leave(thread);
    }
    errno = saved;
}

bool sonde_lock_samples_start(void)
{
    sonde_holds_clear();
    return sonde_acquisitions_start();
}

void sonde_lock_samples_stop(void)
{
    sonde_acquisitions_stop();
    sonde_holds_clear();
}
