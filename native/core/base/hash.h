// The multiplicative hash of all tables here (Knuth, Fibonacci hashing): the upper bits of the
// product are the best, so a place in a table is made of those.
#ifndef SONDE_CORE_HASH_H
#define SONDE_CORE_HASH_H

#include <stdint.h>

// 2^64 divided by the golden ratio. Odd, so that the hash loses nothing of a word.
static inline uint64_t sonde_hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u; }

// The place of a key in a table of 1 << bits places.
static inline uint32_t sonde_hash_place(uint64_t key, unsigned bits)
{
    return (uint32_t)(sonde_hash(key) >> (64 - bits));
}

#endif
