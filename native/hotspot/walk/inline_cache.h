// Which methods a place in compiled code is in: one, and those that it was compiled into. The VM
// looks it up in tables that are far apart, and which between two samples have left the caches; its
// answers are remembered here. May be used in a signal handler.
#ifndef SONDE_HOTSPOT_INLINE_CACHE_H
#define SONDE_HOTSPOT_INLINE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_MAX_INLINED 13

typedef struct {
    uintptr_t pc;
    int32_t number; // of the compilation: other code may come to lie there
    // The frame has called another. The next instruction is in the same methods as others around
    // it, but the VM may report another method for where a call returns to.
    bool calls;
} sonde_code_place;

// How many they are, 0 if that is not known, and their words, innermost first, unless they are more
// than there is room for: those are not remembered.
unsigned sonde_inline_cache_find(const sonde_code_place *place, uint64_t words[SONDE_MAX_INLINED]);
void sonde_inline_cache_add(const sonde_code_place *place, const uint64_t *words, unsigned count);

#endif
