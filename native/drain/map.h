// A growing map from two words to a row. Nothing is ever taken out but everything at once.
#ifndef SONDE_MAP_H
#define SONDE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t a, b;
    int32_t row;
    uint32_t flags; // 0: nothing is here; SONDE_IN_MAP and what its user adds
} sonde_map_entry;

#define SONDE_IN_MAP 1u

typedef struct {
    sonde_map_entry *entries;
    size_t room, count; // room is a power of two, or 0
} sonde_map;

// NULL if it is not known.
const sonde_map_entry *sonde_map_find(const sonde_map *map, uint64_t a, uint64_t b);
// Enters it, or what is new of it; false if there is no memory.
bool sonde_map_set(sonde_map *map, uint64_t a, uint64_t b, int32_t row, uint32_t flags);
void sonde_map_clear(sonde_map *map);

#endif
