// Locks that are held since a sampled acquisition, by address.
#ifndef SONDE_CPYTHON_SAMPLED_HOLDS_H
#define SONDE_CPYTHON_SAMPLED_HOLDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t sonde_holds_open __attribute__((visibility("hidden")));

// Whether there are any: most releases ask nothing else.
static inline bool sonde_any_hold_is_sampled(void)
{
    return __builtin_expect(atomic_load_explicit(&sonde_holds_open, memory_order_relaxed) != 0, 0);
}

// A hold begins. 0: there is no room. Else its id; a hold of the same lock that has not ended is
// forgotten.
uint64_t sonde_hold_begin(uint64_t lock);
// From now on it counts.
void sonde_hold_set_since(uint64_t lock, uint64_t id, uint64_t since);
// Takes out the hold of a lock. False: there is none.
bool sonde_hold_end(uint64_t lock, uint64_t *id, uint64_t *since);
void sonde_holds_clear(void);

#endif
