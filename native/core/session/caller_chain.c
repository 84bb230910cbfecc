#include "core/session/caller_chain.h"

#include "core/base/hash.h"
#include "core/session/session.h"

// One place for each; where two share it, the one that is forgotten is written again.
#define BITS 14
static _Atomic uint64_t known[1u << BITS];

static uint64_t hash_of(uint64_t frame, uint64_t depth)
{
    uint64_t code = frame >> SONDE_INSTR_BITS;
    uint64_t hash = sonde_hash(code) ^ (depth + atomic_load(&sonde.generation));
    hash *= 0xbf58476d1ce4e5b9u;
    return (hash ^ hash >> 29) | 1;
}

bool sonde_chain_is_known(uint64_t frame, uint64_t depth)
{
    uint64_t hash = hash_of(frame, depth);
    return atomic_load_explicit(&known[hash >> (64 - BITS)], memory_order_relaxed) == hash;
}

void sonde_chain_add(const uint64_t *pairs, uint32_t count)
{
    for (uint32_t i = 0; i + 2 < count; i += 2) {
        uint64_t hash = hash_of(pairs[i], pairs[i + 1]);
        atomic_store_explicit(&known[hash >> (64 - BITS)], hash, memory_order_relaxed);
    }
}
