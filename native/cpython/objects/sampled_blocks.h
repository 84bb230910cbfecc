// The blocks of memory that were sampled and are in use: by address, without a lock.
//
// A block belongs to whoever allocated it until it is freed, so nobody adds or removes one address
// in two threads at a time. Only looking at a block's contents may meet its end, see
// sonde_block_hold.
#ifndef SONDE_CPYTHON_SAMPLED_BLOCKS_H
#define SONDE_CPYTHON_SAMPLED_BLOCKS_H

#include "core/base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_BLOCKS_BITS 16
#define SONDE_BLOCKS (1u << SONDE_BLOCKS_BITS)

typedef struct {
    size_t size;
    uint64_t id;
    bool typed; // what is in it was reported
} sonde_block;

// How many blocks have this hash. Most frees need to look no further.
extern _Atomic uint8_t sonde_block_counts[SONDE_BLOCKS];

static inline bool sonde_may_be_sampled(const void *at)
{
    return atomic_load_explicit(
               &sonde_block_counts[sonde_hash_place((uint64_t)(uintptr_t)at, SONDE_BLOCKS_BITS)],
               memory_order_relaxed) != 0;
}

// False: there is no room. The address is not in it.
bool sonde_block_add(const void *at, const sonde_block *block);
// Removes it; false if it was not there. Waits for the thread that holds it, but not for long.
bool sonde_block_take(const void *at, sonde_block *block);

// Keeps the block from being taken, which is before it is freed, for some microseconds. NULL: it is
// not there, or somebody else holds it.
sonde_block *sonde_block_hold(const void *at);
void sonde_block_release(const void *at);

// Calls `visit` for each block, held.
void sonde_blocks_each(void (*visit)(const void *at, sonde_block *block));
// Forgets all of them. Only while no other thread uses the table.
void sonde_blocks_clear(void);

#endif
