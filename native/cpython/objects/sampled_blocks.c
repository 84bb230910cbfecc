#include "cpython/objects/sampled_blocks.h"

// A block is within so many places of its hash's own.
#define PROBES 32u
#define HELD ((uintptr_t)1) // blocks are aligned
// Some milliseconds. In a child that is just being forked whoever held it may not exist.
#define MAX_TRIES 100000u

typedef struct {
    _Atomic uintptr_t at; // 0: free; HELD alone: being filled in
    sonde_block block;
} place_t;

_Atomic uint8_t sonde_block_counts[SONDE_BLOCKS];
static place_t places[SONDE_BLOCKS];

static uint32_t home_of(const void *at)
{
    return sonde_hash_place((uint64_t)(uintptr_t)at, SONDE_BLOCKS_BITS);
}

static place_t *place_at(uint32_t home, uint32_t probe)
{
    return &places[(home + probe) & (SONDE_BLOCKS - 1)];
}

bool sonde_block_add(const void *at, const sonde_block *block)
{
    uint32_t home = home_of(at);
    for (uint32_t i = 0; i < PROBES; i++) {
        place_t *place = place_at(home, i);
        uintptr_t free_ = 0;
        if (!atomic_compare_exchange_strong(&place->at, &free_, HELD))
            continue;
        place->block = *block;
        atomic_fetch_add(&sonde_block_counts[home], 1);
        atomic_store(&place->at, (uintptr_t)at);
        return true;
    }
    return false;
}

static place_t *find(const void *at)
{
    uint32_t home = home_of(at);
    for (uint32_t i = 0; i < PROBES; i++) {
        place_t *place = place_at(home, i);
        if ((atomic_load(&place->at) & ~HELD) == (uintptr_t)at)
            return place;
    }
    return NULL;
}

bool sonde_block_take(const void *at, sonde_block *block)
{
    place_t *place = find(at);
    if (!place)
        return false;
    for (uint32_t tries = 0;; tries++) {
        uintptr_t expected = (uintptr_t)at;
        if (atomic_compare_exchange_strong(&place->at, &expected, HELD))
            break;
        if ((expected & ~HELD) != (uintptr_t)at || tries == MAX_TRIES)
            return false;
        __builtin_ia32_pause();
    }
    *block = place->block;
    atomic_fetch_sub(&sonde_block_counts[home_of(at)], 1);
    atomic_store(&place->at, 0);
    return true;
}

sonde_block *sonde_block_hold(const void *at)
{
    place_t *place = find(at);
    uintptr_t expected = (uintptr_t)at;
    if (place && atomic_compare_exchange_strong(&place->at, &expected, expected | HELD))
        return &place->block;
    return NULL;
}

void sonde_block_release(const void *at)
{
    place_t *place = find(at);
    if (place)
        atomic_store(&place->at, (uintptr_t)at);
}

void sonde_blocks_each(void (*visit)(const void *at, sonde_block *block))
{
    for (uint32_t i = 0; i < SONDE_BLOCKS; i++) {
        uintptr_t at = atomic_load_explicit(&places[i].at, memory_order_relaxed);
        if (!at || (at & HELD) || !atomic_compare_exchange_strong(&places[i].at, &at, at | HELD))
            continue;
        visit((const void *)at, &places[i].block);
        atomic_store(&places[i].at, at);
    }
}

void sonde_blocks_clear(void)
{
    for (uint32_t home = 0; home < SONDE_BLOCKS; home++) {
        if (!atomic_load_explicit(&sonde_block_counts[home], memory_order_relaxed))
            continue;
        for (uint32_t i = 0; i < PROBES; i++)
            atomic_store_explicit(&place_at(home, i)->at, 0, memory_order_relaxed);
        atomic_store_explicit(&sonde_block_counts[home], 0, memory_order_relaxed);
    }
}
