// Objects as 32-bit references: the number of a region of 512 KiB, and the place in it in steps of
// 8 bytes. Bitmaps of each region have what was written, what is still to be written, and what is a
// part of another object. The first without the last becomes a part of the file, where the rank of
// its bit is an object's number.
#ifndef SONDE_CPYTHON_HEAP_REGION_MAP_H
#define SONDE_CPYTHON_HEAP_REGION_MAP_H

#include "core/base/heap_file.h"

#include <stdbool.h>

#define MAX_REGIONS 65535 // the last number would make HEAP_NONE

typedef struct {
    uint64_t number;
    uint64_t written[HEAP_REGION_WORDS], wanted[HEAP_REGION_WORDS], parts[HEAP_REGION_WORDS];
    bool listed; // among those with something wanted
} heap_region;

extern heap_region **sonde_heap_regions;
extern uint32_t sonde_heap_region_count;
extern uint64_t sonde_heap_left_out; // references to regions that are too many

bool sonde_heap_regions_start(void);
// The index of a region, MAX_REGIONS if there are too many.
uint32_t sonde_heap_region_find(uint64_t number);
void sonde_heap_region_list(uint32_t index);
// An address that is wanted and not written, which is written then; 0 if there is none.
uintptr_t sonde_heap_region_next(void);

typedef struct {
    uint64_t number; // plus one: an empty place has 0
    uint32_t index;
} heap_recent_region;
extern heap_recent_region sonde_heap_recent[1024];

static inline uint32_t heap_ref(const void *object)
{
    uint64_t address = (uint64_t)(uintptr_t)object, number = address >> HEAP_REGION_SHIFT;
    heap_recent_region *recent = &sonde_heap_recent[number & 1023];
    uint32_t index = recent->number == number + 1 ? recent->index : sonde_heap_region_find(number);
    return index << 16 | (uint32_t)(address >> 3 & 0xffff);
}

static inline bool heap_ref_is_valid(uint32_t ref) { return ref >> 16 != MAX_REGIONS; }

// Whether it had not been written before.
static inline bool heap_mark_written(uint32_t ref)
{
    if (!heap_ref_is_valid(ref))
        return false;
    uint64_t *word = &sonde_heap_regions[ref >> 16]->written[(ref & 0xffff) >> 6];
    uint64_t bit = (uint64_t)1 << (ref & 63);
    bool fresh = !(*word & bit);
    *word |= bit;
    return fresh;
}

// It is not going to be written.
static inline void heap_mark_part(uint32_t ref)
{
    if (heap_mark_written(ref))
        sonde_heap_regions[ref >> 16]->parts[(ref & 0xffff) >> 6] |= (uint64_t)1 << (ref & 63);
}

// A reference to an object that will be written if it was not yet.
static inline uint32_t heap_want(const void *object)
{
    uint32_t ref = heap_ref(object);
    if (!heap_ref_is_valid(ref)) {
        sonde_heap_left_out++;
        return 0xffffffffu;
    }
    heap_region *region = sonde_heap_regions[ref >> 16];
    uint32_t word = (ref & 0xffff) >> 6;
    uint64_t bit = (uint64_t)1 << (ref & 63);
    if (!(region->written[word] & bit)) {
        region->wanted[word] |= bit;
        if (!region->listed)
            sonde_heap_region_list(ref >> 16);
    }
    return ref;
}

#endif
