#define _GNU_SOURCE
#include "core/hooks/acquisition_counts.h"

#include "core/base/clock.h"
#include "core/base/exponential.h"
#include "core/session/session.h"

#include <errno.h>
#include <stddef.h>
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

bool sonde_acquisition_is_sampled(void)
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
    return true;
}

uint64_t sonde_acquisition_take(void)
{
    if (sonde_acquisitions_mine.round != sonde_acquisitions_round)
        return 0;
    sonde_slot *slot = my_slot();
    slot->locks_before += slot->locks_drawn;
    draw(slot);
    return slot->locks_before;
}

void sonde_acquisition_keep(uint64_t counted) { my_slot()->locks_before = counted; }

uint32_t sonde_acquisitions_every(void) { return every; }

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
    last_round = last_round + 1 ? last_round + 1 : 1;
    sonde_acquisitions_round = last_round;
    return true;
}

void sonde_acquisitions_stop(void)
{
    sonde_acquisitions_round = 0;
    mmap(room, ROOM, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
