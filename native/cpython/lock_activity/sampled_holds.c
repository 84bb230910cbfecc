#include "cpython/lock_activity/sampled_holds.h"

#include "core/base/hash.h"

#include <stddef.h>

// One of a thousand acquisitions is sampled, so few locks are held that were. A lock has few places
// where it may be: a release looks at those and at no other.
#define BITS 10
#define PLACES (1u << BITS)
#define TRIES 4u

typedef struct {
    _Atomic uint64_t lock; // 0: free, 1: being filled in
    uint64_t id, since;
} hold_t;

_Atomic uint32_t sonde_holds_open;
static hold_t holds[PLACES];
static _Atomic uint64_t last_id;

static hold_t *place(uint64_t lock, uint32_t try)
{
    return &holds[(sonde_hash_place(lock, BITS) + try) % PLACES];
}

static hold_t *find(uint64_t lock)
{
    for (uint32_t i = 0; i < TRIES; i++)
        if (atomic_load_explicit(&place(lock, i)->lock, memory_order_acquire) == lock)
            return place(lock, i);
    return NULL;
}

// Threads of one interpreter have the GIL here. Those of others have locks of their own, and never
// look for the same one.
uint64_t sonde_hold_begin(uint64_t lock)
{
    uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    hold_t *hold = find(lock);
    if (hold) {
        hold->id = id;
        return id;
    }
    for (uint32_t i = 0; i < TRIES; i++) {
        uint64_t free = 0;
        hold = place(lock, i);
        if (!atomic_compare_exchange_strong(&hold->lock, &free, 1))
            continue;
        hold->id = id;
        hold->since = UINT64_MAX;
        atomic_store_explicit(&hold->lock, lock, memory_order_release);
        atomic_fetch_add(&sonde_holds_open, 1);
        return id;
    }
    return 0;
}

void sonde_hold_set_since(uint64_t lock, uint64_t id, uint64_t since)
{
    hold_t *hold = find(lock);
    if (hold && hold->id == id)
        hold->since = since;
}

bool sonde_hold_end(uint64_t lock, uint64_t *id, uint64_t *since)
{
    hold_t *hold = find(lock);
    if (!hold)
        return false;
    *id = hold->id;
    *since = hold->since;
    uint64_t known = lock;
    if (!atomic_compare_exchange_strong(&hold->lock, &known, 0))
        return false;
    atomic_fetch_sub(&sonde_holds_open, 1);
    return true;
}

void sonde_holds_clear(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        atomic_store(&holds[i].lock, 0);
    atomic_store(&sonde_holds_open, 0);
}
