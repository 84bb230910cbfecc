#include "cpython/loops/task_table.h"

#include "core/base/hash.h"

#include <string.h>

#define BITS 17
#define PLACES (1u << BITS)
#define ENTRIES (1u << 16)
// Where all entries are in use, those that took no step for so long are given up.
#define STALE_NS 10000000000u

static sonde_task_entry entries[ENTRIES]; // the first one is not used
static uint32_t places[PLACES];
static uint32_t used = 1, first_free;
static uint64_t last_id;
static uint64_t swept;

static uint32_t place_of(const void *key)
{
    uint32_t place = sonde_hash_place((uint64_t)(uintptr_t)key, BITS);
    while (places[place] && entries[places[place]].key != key)
        place = (place + 1) & (PLACES - 1);
    return place;
}

sonde_task_entry *sonde_task_find(const void *key)
{
    uint32_t index = places[place_of(key)];
    return index ? &entries[index] : NULL;
}

static void sweep(uint64_t now)
{
    if (now - swept < STALE_NS / 10)
        return;
    swept = now;
    for (uint32_t i = 1; i < used; i++)
        if (entries[i].id && !entries[i].stepping && now - entries[i].last_end > STALE_NS)
            sonde_task_remove(&entries[i]);
}

sonde_task_entry *sonde_task_add(const void *key, uint8_t kind, uint64_t now)
{
    if (!first_free && used == ENTRIES)
        sweep(now);
    uint32_t index = first_free;
    if (index)
        first_free = entries[index].next_free;
    else if (used < ENTRIES)
        index = used++;
    else
        return NULL;
    entries[index] = (sonde_task_entry){.key = key, .id = ++last_id, .reported = now, .kind = kind};
    places[place_of(key)] = index;
    return &entries[index];
}

void sonde_task_remove(sonde_task_entry *entry)
{
    uint32_t hole = place_of(entry->key);
    uint32_t index = places[hole];
    // Linear probing: entries after the hole that could have been there move up.
    for (uint32_t place = (hole + 1) & (PLACES - 1); places[place];
         place = (place + 1) & (PLACES - 1)) {
        uint32_t home = sonde_hash_place((uint64_t)(uintptr_t)entries[places[place]].key, BITS);
        if (((place - home) & (PLACES - 1)) >= ((place - hole) & (PLACES - 1))) {
            places[hole] = places[place];
            hole = place;
        }
    }
    places[hole] = 0;
    *entry = (sonde_task_entry){.next_free = first_free};
    first_free = index;
}

void sonde_tasks_each(void (*look)(sonde_task_entry *entry, void *arg), void *arg)
{
    for (uint32_t i = 1; i < used; i++)
        if (entries[i].id)
            look(&entries[i], arg);
}

void sonde_tasks_clear(void)
{
    memset(entries, 0, used * sizeof *entries);
    memset(places, 0, sizeof places);
    used = 1;
    first_free = 0;
    swept = 0;
}
