// CallerChaining (Inoue & Nakatani, section 6): a sample has a function and its caller, each with
// its depth in bytes from the bottom of the thread's stack, and no more. The tree is put together
// afterwards: a caller is found again as the function of other samples, at the same depth.
//
// A function that is never sampled itself, because it only calls others, would break the chain: the
// first time that a caller is seen at a depth, its own caller is written too, and so on.
#ifndef SONDE_CORE_CALLER_CHAIN_H
#define SONDE_CORE_CALLER_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

// Was the caller of this function at this depth written in this session?
bool sonde_chain_is_known(uint64_t frame, uint64_t depth);

// Remembers those of `count` words, pairs of a frame and its depth, as written; of the last one the
// caller is not.
void sonde_chain_add(const uint64_t *pairs, uint32_t count);

#endif
