#include "core/session/ring.h"

#include "core/base/hot.h"

#include <string.h>

// Records never wrap: where one does not fit before the end, a pad record fills the rest. The
// consumer then reads every record from contiguous memory.
SONDE_HOT void *sonde_ring_reserve(sonde_ring *ring, size_t size)
{
    size = sonde_round8(size);
    uint64_t head = ring->head;
    if (head - ring->tail + 2 * size > ring->size) // it may only seem to be full
        ring->tail = atomic_load_explicit(&ring->slot->tail, memory_order_acquire);
    uint64_t used = head - ring->tail;
    // The tail comes from another process; a nonsensical one must not make us write out of bounds.
    if (size > ring->size || used > ring->size)
        return NULL;
    uint32_t at = (uint32_t)(head & (ring->size - 1));
    uint32_t to_end = ring->size - at;
    size_t skip = size <= to_end ? 0 : to_end;
    if (used + skip + size > ring->size)
        return NULL;
    if (skip) {
        sonde_rec pad = {.size = to_end, .kind = SONDE_REC_PAD};
        memcpy(ring->data + at, &pad, sizeof pad);
        ring->head = head + skip;
        atomic_store_explicit(&ring->slot->head, ring->head, memory_order_release);
        at = 0;
    }
    return ring->data + at;
}

SONDE_HOT void sonde_ring_commit(sonde_ring *ring, size_t size)
{
    ring->head += sonde_round8(size);
    atomic_store_explicit(&ring->slot->head, ring->head, memory_order_release);
}
