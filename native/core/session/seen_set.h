// The set of things (code objects, method definitions) already described to the recorder.
//
// Signal handlers of all threads look up and insert without a lock. One 64-bit word holds the
// pointer (44 bits: user space, 8-byte aligned) and how often the place was used before (20 bits),
// so acquiring a place and naming it is a single compare-and-swap, and an address that is freed and
// used again gets another id.
#ifndef SONDE_CORE_SEEN_SET_H
#define SONDE_CORE_SEEN_SET_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_SEEN_BITS 16
#define SONDE_SEEN_PROBES 32

typedef struct {
    _Atomic uint64_t words[1u << SONDE_SEEN_BITS];
} sonde_seen;

// The id of `key`, inserted if it was not there (then *fresh is set); 0 if there is no place for
// it.
uint64_t sonde_seen_add(sonde_seen *seen, const void *key, bool *fresh);

// The id of `key`, 0 if it is not there.
uint64_t sonde_seen_find(const sonde_seen *seen, const void *key);

// Forgets `key`: called when the thing dies, and when it could not be described after all. Was it
// there?
bool sonde_seen_remove(sonde_seen *seen, const void *key);

// Forgets everything. Only while no handler runs.
void sonde_seen_clear(sonde_seen *seen);

#endif
