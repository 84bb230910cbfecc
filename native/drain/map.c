#include "drain/map.h"

#include "core/base/hash.h"

#include <stdlib.h>

#define MIN_SIZE 256

static size_t place_of(uint64_t a, uint64_t b, size_t room)
{
    uint64_t mixed = sonde_hash(a) ^ b;
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
    return (size_t)(mixed ^ (mixed >> 32)) & (room - 1);
}

// Where it is, or would be.
static sonde_map_entry *look(const sonde_map *map, uint64_t a, uint64_t b)
{
    size_t at = place_of(a, b, map->room);
    while (map->entries[at].flags && (map->entries[at].a != a || map->entries[at].b != b))
        at = (at + 1) & (map->room - 1);
    return &map->entries[at];
}

const sonde_map_entry *sonde_map_find(const sonde_map *map, uint64_t a, uint64_t b)
{
    if (!map->room)
        return NULL;
    const sonde_map_entry *entry = look(map, a, b);
    return entry->flags ? entry : NULL;
}

static bool grow(sonde_map *map)
{
    sonde_map larger = {.room = map->room ? map->room * 2 : MIN_SIZE, .count = map->count};
    larger.entries = calloc(larger.room, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->entries[i].flags)
            *look(&larger, map->entries[i].a, map->entries[i].b) = map->entries[i];
    free(map->entries);
    *map = larger;
    return true;
}

bool sonde_map_set(sonde_map *map, uint64_t a, uint64_t b, int32_t row, uint32_t flags)
{
    if (map->count * 2 >= map->room && !grow(map))
        return false;
    sonde_map_entry *entry = look(map, a, b);
    map->count += !entry->flags;
    *entry = (sonde_map_entry){a, b, row, flags | SONDE_IN_MAP};
    return true;
}

void sonde_map_clear(sonde_map *map)
{
    free(map->entries);
    *map = (sonde_map){0};
}
