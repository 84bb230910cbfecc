// Single-producer single-consumer ring of variable-sized records in shared memory.
// Producing needs no lock, no allocation and no system call, so it may happen in a signal handler.
#ifndef SONDE_CORE_RING_H
#define SONDE_CORE_RING_H

#include "core/session/shm.h"

#include <stddef.h>

typedef struct {
    sonde_slot *slot;
    uint8_t *data;
    uint64_t head, tail; // as last written and read: the slot's own are in the recorder's caches
    uint32_t size;       // a power of two
} sonde_ring;

// Room for a record of `size` bytes (rounded up to 8) in one piece, or NULL if the ring is full.
// Nothing is visible to the consumer before sonde_ring_commit.
void *sonde_ring_reserve(sonde_ring *ring, size_t size);

// Publishes the last reservation; `size` may be smaller than what was reserved.
void sonde_ring_commit(sonde_ring *ring, size_t size);

// Asks for the memory that the next records go to: it is in the recorder's cache, and while it is
// fetched from there a stack can be walked.
static inline void sonde_ring_expect(const sonde_ring *ring)
{
    const uint8_t *next = ring->data + (ring->head & (ring->size - 1));
    __builtin_prefetch(&ring->slot->head, 1);
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next + 64, 1);
}

static inline size_t sonde_round8(size_t n) { return (n + 7) & ~(size_t)7; }

#endif
