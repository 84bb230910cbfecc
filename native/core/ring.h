// Single-producer single-consumer ring of variable-sized records in shared memory.
// Producing needs no lock, no allocation and no system call, so it may happen in a signal handler.
#ifndef SONDE_RING_H
#define SONDE_RING_H

#include "shm.h"

#include <stddef.h>

typedef struct {
    sonde_slot *slot;
    uint8_t *data;
    uint32_t size; // a power of two
} sonde_ring;

// Room for a record of `size` bytes (rounded up to 8) in one piece, or NULL if the ring is full.
// Nothing is visible to the consumer before sonde_ring_commit.
void *sonde_ring_reserve(sonde_ring *ring, size_t size);

// Publishes the last reservation; `size` may be smaller than what was reserved.
void sonde_ring_commit(sonde_ring *ring, size_t size);

static inline size_t sonde_round8(size_t n) { return (n + 7) & ~(size_t)7; }

#endif
