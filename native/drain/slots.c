// Which slots hold something new: of thousands of threads few have written anything since the last
// look.
#include "core/session/shm.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define WORDS (SONDE_SLOT_SIZE / sizeof(uint64_t))

// Puts the indexes of the slots that a thread has and that hold records, or whose thread is another
// than that of `claimed`, into `out`; returns how many they are.
EXPORT size_t sonde_slots_pending(sonde_slot *slots, size_t n, const uint64_t *claimed,
                                  uint32_t *out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        sonde_slot *slot = &slots[i];
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != SONDE_SLOT_USED ||
            atomic_load_explicit(&slot->tid, memory_order_acquire) == 0)
            continue;
        if (slot->claimed_ns != claimed[i] ||
            atomic_load_explicit(&slot->head, memory_order_acquire) !=
                atomic_load_explicit(&slot->tail, memory_order_relaxed))
            out[found++] = (uint32_t)i;
    }
    return found;
}

// Adds up each word of all slots.
EXPORT void sonde_slots_total(const uint64_t *slots, size_t n, uint64_t *total)
{
    for (size_t word = 0; word < WORDS; word++)
        total[word] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t word = 0; word < WORDS; word++)
            total[word] += slots[i * WORDS + word];
}
