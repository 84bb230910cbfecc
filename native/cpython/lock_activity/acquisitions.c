#define _GNU_SOURCE
#include "cpython/lock_activity/acquisitions.h"

#include "core/base/clock.h"
#include "core/base/exponential.h"
#include "core/session/records.h"
#include "cpython/lock_activity/lock_state.h"
#include "cpython/lock_activity/sampled_holds.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <sys/mman.h>

// The slots, mapped a second time: here the memory stays when the session is over, while a thread
// that waits for a lock still has a pointer into it. Between sessions it is no slots' memory.
#define ROOM (SONDE_MAX_SLOTS * SONDE_SLOT_SIZE)
static _Alignas(4096) uint8_t room[ROOM];

static uint32_t nowhere; // what threads count that have no slot

_Thread_local sonde_acquisitions sonde_acquisitions_mine = {&nowhere, 0, 0};
uint32_t sonde_acquisitions_round;
static uint32_t last_round;
static uint32_t every; // as ordered
static double scale;   // of an exponential distribution that is geometric when it is rounded up

static sonde_slot *slot_here(const sonde_thread *thread)
{
    return (sonde_slot *)room + (thread->slot - sonde.slots);
}

static sonde_slot *my_slot(void)
{
    return (sonde_slot *)((uint8_t *)sonde_acquisitions_mine.left -
                          offsetof(sonde_slot, locks_left));
}

// Each acquisition is sampled with the same probability, whatever was before it. So what a program
// does in turns is sampled in proportion, and a thread that makes few is as likely as any other.
static void draw(sonde_slot *slot)
{
    double distance = sonde_exponential(&sonde_acquisitions_mine.random) * scale;
    slot->locks_drawn = distance < 4e9 ? (uint32_t)distance + 1 : UINT32_MAX;
    slot->locks_left = slot->locks_drawn;
}

// False if there is no room for this thread.
static bool begin_to_count(void)
{
    sonde_acquisitions *mine = &sonde_acquisitions_mine;
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    sonde_slot *slot = thread ? slot_here(thread) : NULL;
    if (thread)
        sonde_leave(thread);
    errno = saved;
    if (!slot)
        return false;
    mine->random = (sonde_now() ^ (uintptr_t)mine) | 1;
    sonde_exponential(&mine->random);
    slot->locks_before = 0;
    draw(slot);
    mine->left = &slot->locks_left;
    mine->round = sonde_acquisitions_round;
    return true;
}

static bool nothing_to_count(void)
{
    sonde_acquisitions_mine.left = &nowhere;
    sonde_acquisitions_mine.round = 0;
    return false;
}

// What is ordered at the moment; 0 if there is no session. Entered, because it may end.
static uint32_t ordered(void)
{
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    uint32_t what = thread ? sonde_what() : 0;
    if (thread)
        sonde_leave(thread);
    errno = saved;
    return what;
}

bool sonde_attempt_begin(sonde_attempt *attempt, PyObject *lock, bool reentrant)
{
    if (!sonde_acquisitions_round)
        return nothing_to_count();
    if (sonde_acquisitions_mine.round != sonde_acquisitions_round && !begin_to_count())
        return nothing_to_count();
    if (*sonde_acquisitions_mine.left > 1)
        return false;
    if (!(ordered() & SONDE_WHAT_LOCK_ACTIVITY)) { // what is made in a pause counts for nothing
        draw(my_slot());
        return false;
    }
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
        .every = every,
        .counted = counted < UINT32_MAX ? (uint32_t)counted : UINT32_MAX,
        .interpreter = stack.interpreter,
        .kind = PY_VERSION_HEX >= 0x030E0000 ? SONDE_KIND_PARKED : SONDE_KIND_SEMAPHORE,
        .span = stack.span,
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
    if (sonde_acquisitions_mine.round != sonde_acquisitions_round)
        return; // the counting ended while the thread waited
    int saved = errno;
    sonde_slot *slot = my_slot();
    slot->locks_before += slot->locks_drawn;
    draw(slot);
    sonde_thread *thread = sonde_enter();
    if (thread) {
        uint64_t address = sonde_lock_address(lock, attempt->reentrant);
        slot->locks_before = write_sample(thread, attempt, address, slot->locks_before, followed);
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

bool sonde_acquisitions_start(void)
{
    every = atomic_load(&sonde.header->lock_every);
    if (!every)
        return false;
    // Each time another address would be simpler, were it not for the threads that have the old.
    size_t size = sonde.config.nslots * sizeof(sonde_slot);
    if (mremap(sonde.slots, 0, (size + 4095) & ~(size_t)4095, MREMAP_MAYMOVE | MREMAP_FIXED,
               room) == MAP_FAILED)
        return false;
    madvise(room, ROOM, MADV_DOFORK);
    scale = every > 1 ? -1 / sonde_ln(1 - 1.0 / every) : 0;
    sonde_holds_clear();
    last_round = last_round + 1 ? last_round + 1 : 1;
    sonde_acquisitions_round = last_round;
    return true;
}

void sonde_acquisitions_stop(void)
{
    sonde_acquisitions_round = 0;
    mmap(room, ROOM, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    sonde_holds_clear();
}
