#define _GNU_SOURCE
#include "core/hooks/waiter_table.h"

#include "core/base/hash.h"
#include "core/base/zero.h"

#include <stddef.h>

#define PLACES_BITS 12
#define PLACES (1u << PLACES_BITS)
#define PROBES 8 // one cache line of words

// A word is a key (upper 48 bits: an address) and how many wait for it. A place whose count is zero
// may be taken by another key, by the same compare-and-swap that enters the waiter.
static _Atomic uint64_t words[PLACES] __attribute__((aligned(64)));
static sonde_waiter facts[PLACES];
_Atomic uint32_t sonde_waiter_count;

// Numbers without gaps per lock, as long as there is room; then shared ones, marked as such.
#define LOCKS_BITS 13
#define LOCKS (1u << LOCKS_BITS)
static struct {
    _Atomic uint64_t lock, last;
} sequences[LOCKS];
static _Atomic uint64_t shared_sequence;

static uint32_t start_of(uint64_t key)
{
    uint32_t place = sonde_hash_place(key, PLACES_BITS);
    return place & ~(uint32_t)(PROBES - 1);
}

static uint64_t key_of(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

sonde_waiter *sonde_wait_begin(const void *pointer, uint64_t lock, uint32_t kind)
{
    uint64_t key = key_of(pointer);
    uint32_t start = start_of(key);
    for (;;) {
        uint32_t free_place = PLACES;
        uint64_t free_word = 0;
        uint32_t found = PLACES;
        uint64_t found_word = 0;
        for (uint32_t i = start; i < start + PROBES; i++) {
            uint64_t word = atomic_load_explicit(&words[i], memory_order_acquire);
            if (word >> 16 == key) {
                found = i;
                found_word = word;
                break;
            }
            if ((word & 0xffff) == 0 && free_place == PLACES) {
                free_place = i;
                free_word = word;
            }
        }
        uint32_t place = found != PLACES ? found : free_place;
        if (place == PLACES)
            return NULL;
        uint64_t expected = found != PLACES ? found_word : free_word;
        uint64_t word = found != PLACES ? found_word + 1 : key << 16 | 1;
        if ((word & 0xffff) == 0) // 65,536 wait for one lock: no more are counted
            return NULL;
        if (!atomic_compare_exchange_strong(&words[place], &expected, word))
            continue;
        sonde_waiter *entry = &facts[place];
        if ((word & 0xffff) == 1) { // what was before belongs to waits that are over
            entry->last_owner = 0;
            entry->last_release = 0;
        }
        entry->lock = lock;
        entry->kind = kind;
        atomic_store_explicit(&entry->ready_for, key, memory_order_release);
        atomic_fetch_add(&sonde_waiter_count, 1);
        return entry;
    }
}

void sonde_wait_end(const void *pointer)
{
    uint64_t key = key_of(pointer);
    uint32_t start = start_of(key);
    for (uint32_t i = start; i < start + PROBES; i++) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_acquire);
        while (word >> 16 == key && (word & 0xffff))
            if (atomic_compare_exchange_weak(&words[i], &word, word - 1)) {
                atomic_fetch_sub(&sonde_waiter_count, 1);
                return;
            }
    }
}

sonde_waiter *sonde_find_waiter(const void *pointer)
{
    if (!sonde_anybody_waits())
        return NULL;
    uint64_t key = key_of(pointer);
    uint32_t start = start_of(key);
    for (uint32_t i = start; i < start + PROBES; i++) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);
        if (word >> 16 == key && (word & 0xffff)) {
            // Seen before its facts were written: nothing is known of it yet.
            uint64_t ready = atomic_load_explicit(&facts[i].ready_for, memory_order_acquire);
            return ready == key ? &facts[i] : NULL;
        }
    }
    return NULL;
}

uint64_t sonde_lock_sequence(uint64_t lock)
{
    uint32_t start = sonde_hash_place(lock, LOCKS_BITS);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t place = (start + i) & (LOCKS - 1);
        uint64_t here = atomic_load_explicit(&sequences[place].lock, memory_order_relaxed);
        if (here == 0)
            atomic_compare_exchange_strong(&sequences[place].lock, &here, lock);
        if (here == lock || here == 0)
            return atomic_fetch_add(&sequences[place].last, 1) + 1;
    }
    return (atomic_fetch_add(&shared_sequence, 1) + 1) | SONDE_SEQUENCE_SHARED;
}

void sonde_waiters_forked(void)
{
    sonde_zero((void *)words, sizeof words);
    atomic_store(&sonde_waiter_count, 0);
    sonde_zero((void *)sequences, sizeof sequences);
}
