#include "core/session/seen_set.h"

#include "core/base/hash.h"
#include "core/base/hot.h"

#include <stdatomic.h>

#define USES_BITS 20
#define USES_MASK ((1u << USES_BITS) - 1)
#define PLACES (1u << SONDE_SEEN_BITS)

static uint32_t place_of(uint64_t key) { return sonde_hash_place(key, SONDE_SEEN_BITS); }

static uint64_t id_of(uint32_t place, uint64_t word)
{
    return ((word & USES_MASK) << SONDE_SEEN_BITS) | place;
}

// Objects and method definitions are at least 8-byte aligned and user addresses have 47 bits.
static uint64_t key_of(const void *pointer)
{
    return ((uint64_t)(uintptr_t)pointer >> 3) & (((uint64_t)1 << 44) - 1);
}

SONDE_HOT uint64_t sonde_seen_find(const sonde_seen *seen, const void *pointer)
{
    uint64_t key = key_of(pointer);
    uint32_t start = place_of(key);
    for (uint32_t i = 0; i < SONDE_SEEN_PROBES; i++) {
        uint32_t place = (start + i) & (PLACES - 1);
        uint64_t word = atomic_load_explicit(&seen->words[place], memory_order_acquire);
        if (word >> USES_BITS == key)
            return id_of(place, word);
        if (word == 0)
            return 0;
    }
    return 0;
}

uint64_t sonde_seen_add(sonde_seen *seen, const void *pointer, bool *fresh)
{
    uint64_t key = key_of(pointer);
    uint32_t start = place_of(key);
    *fresh = false;
    for (;;) {
        uint32_t free_place = PLACES;
        uint64_t free_word = 0;
        for (uint32_t i = 0; i < SONDE_SEEN_PROBES; i++) {
            uint32_t place = (start + i) & (PLACES - 1);
            uint64_t word = atomic_load_explicit(&seen->words[place], memory_order_acquire);
            if (word >> USES_BITS == key)
                return id_of(place, word);
            if (word >> USES_BITS == 0 && free_place == PLACES) {
                free_place = place;
                free_word = word;
            }
            if (word == 0) // never used: the key cannot be further on
                break;
        }
        if (free_place == PLACES)
            return 0;
        uint64_t uses = (free_word + 1) & USES_MASK;
        uint64_t word = key << USES_BITS | (uses ? uses : 1);
        if (atomic_compare_exchange_strong_explicit(&seen->words[free_place], &free_word, word,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            *fresh = true;
            return id_of(free_place, word);
        }
    }
}

bool sonde_seen_remove(sonde_seen *seen, const void *pointer)
{
    uint64_t key = key_of(pointer);
    uint32_t start = place_of(key);
    bool was_there = false;
    for (uint32_t i = 0; i < SONDE_SEEN_PROBES; i++) {
        uint32_t place = (start + i) & (PLACES - 1);
        uint64_t word = atomic_load_explicit(&seen->words[place], memory_order_acquire);
        if (word == 0)
            break;
        // Two threads that raced past a place just freed may both have inserted the key: no early
        // end.
        if (word >> USES_BITS == key) {
            was_there = true;
            atomic_compare_exchange_strong_explicit(&seen->words[place], &word, word & USES_MASK,
                                                    memory_order_acq_rel, memory_order_relaxed);
        }
    }
    return was_there;
}

void sonde_seen_clear(sonde_seen *seen)
{
    // The count of uses stays, so ids are never given twice within one process.
    for (uint32_t place = 0; place < PLACES; place++) {
        uint64_t word = atomic_load_explicit(&seen->words[place], memory_order_relaxed);
        if (word >> USES_BITS)
            atomic_store_explicit(&seen->words[place], word & USES_MASK, memory_order_relaxed);
    }
}
