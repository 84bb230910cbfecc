#define _GNU_SOURCE
#include "cpython/heap/region_map.h"

#include "core/base/hash.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

heap_region **sonde_heap_regions;
uint32_t sonde_heap_region_count;
uint64_t sonde_heap_left_out;
heap_recent_region sonde_heap_recent[1024];

#define HASH_BITS 17
#define POOL_BYTES ((size_t)16 << 20)

typedef struct {
    uint64_t number; // plus one
    uint32_t index;
} entry;
static entry *entries;
static uint32_t *listed, listed_count;
static uint32_t at_word;
static char *pool, *pool_end;

static void *area(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

bool sonde_heap_regions_start(void)
{
    entries = area(sizeof *entries << HASH_BITS);
    sonde_heap_regions = area(sizeof *sonde_heap_regions * MAX_REGIONS);
    listed = area(sizeof *listed * MAX_REGIONS);
    sonde_heap_region_count = listed_count = at_word = 0;
    sonde_heap_left_out = 0;
    pool = pool_end = NULL;
    memset(sonde_heap_recent, 0, sizeof sonde_heap_recent);
    return entries && sonde_heap_regions && listed;
}

static heap_region *create(uint64_t number)
{
    if (pool_end - pool < (ptrdiff_t)sizeof(heap_region)) {
        if (!(pool = area(POOL_BYTES)))
            return (heap_region *)(pool_end = NULL);
        pool_end = pool + POOL_BYTES;
    }
    heap_region *region = (heap_region *)pool;
    pool += sizeof *region;
    region->number = number;
    return region;
}

uint32_t sonde_heap_region_find(uint64_t number)
{
    uint32_t place = sonde_hash_place(number, HASH_BITS);
    while (entries[place].number && entries[place].number != number + 1)
        place = (place + 1) & ((1u << HASH_BITS) - 1);
    if (!entries[place].number) {
        heap_region *region = sonde_heap_region_count < MAX_REGIONS ? create(number) : NULL;
        if (!region)
            return MAX_REGIONS;
        sonde_heap_regions[sonde_heap_region_count] = region;
        entries[place] = (entry){number + 1, sonde_heap_region_count++};
    }
    sonde_heap_recent[number & 1023] = (heap_recent_region){number + 1, entries[place].index};
    return entries[place].index;
}

void sonde_heap_region_list(uint32_t index)
{
    sonde_heap_regions[index]->listed = true;
    listed[listed_count++] = index;
    at_word = 0; // it may be another region than the one being looked at
}

uintptr_t sonde_heap_region_next(void)
{
    while (listed_count) {
        heap_region *region = sonde_heap_regions[listed[listed_count - 1]];
        for (uint32_t word = at_word; word < HEAP_REGION_WORDS; word++) {
            uint64_t bits = region->wanted[word] & ~region->written[word];
            region->wanted[word] = bits;
            if (!bits)
                continue;
            uint64_t bit = bits & -bits;
            region->wanted[word] ^= bit;
            region->written[word] |= bit;
            at_word = word;
            return (uintptr_t)(region->number << HEAP_REGION_SHIFT |
                               (word * 64u + (uint32_t)__builtin_ctzll(bit)) << 3);
        }
        at_word = 0;
        // What was wanted behind the word we had come to is seen now.
        bool more = false;
        for (uint32_t word = 0; word < HEAP_REGION_WORDS && !more; word++)
            more = region->wanted[word] & ~region->written[word];
        if (more)
            continue;
        region->listed = false;
        listed_count--;
    }
    return 0;
}
