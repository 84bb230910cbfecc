#define _GNU_SOURCE
#include "hotspot/vm/heap_memory.h"

#include "core/signals/fault_guard.h"
#include "hotspot/vm/vm.h"
#include "hotspot/vm/vm_structs.h"

#include <stdbool.h>
#include <string.h>

// What this VM's heap is made of. Of others the agent only knows where it lies.
static enum { OTHER, REGIONS, GENERATIONS } made_of;

static const uintptr_t *heap_at; // NULL: this VM does not export it
static int64_t reserved_at, start_at, words_at;

// G1: a table of regions, by the address divided by the size of one. Each has its use.
static int64_t table_at, first_at, shift_at, use_at;
// As in g1HeapRegionType.hpp, 17 to 25: other bits distinguish kinds of old regions.
enum { FREE = 0, EDEN = 2, SURVIVOR = 3, HUMONGOUS = 4 };

// Serial and Parallel: the young generation has three spaces.
static const uintptr_t *young_static; // where the VM keeps it; else in the heap's record
static int64_t young_at, eden_at, from_at, to_at, bottom_at, end_at;

static int64_t one_of(void *vm, const char *type, const char *other, const char *field)
{
    int64_t offset = sonde_field_offset(vm, type, field);
    return offset < 0 ? sonde_field_offset(vm, other, field) : offset;
}

static bool has_flag(void *vm, const char *name)
{
    const char *const *flags = sonde_static_field(vm, "JVMFlag", "flags");
    const uint64_t *count = sonde_static_field(vm, "JVMFlag", "numFlags");
    int64_t name_at = sonde_field_offset(vm, "JVMFlag", "_name");
    int64_t value_at = sonde_field_offset(vm, "JVMFlag", "_addr");
    uint64_t size = sonde_type_size(vm, "JVMFlag");
    if (!flags || !count || name_at < 0 || value_at < 0 || !size)
        return false;
    for (uint64_t i = 0; i < *count; i++) {
        const char *flag = *flags + i * size;
        const char *its = *(const char *const *)(flag + name_at);
        if (its && strcmp(its, name) == 0)
            return **(const bool *const *)(flag + value_at);
    }
    return false;
}

static bool find_regions(void *vm)
{
    int64_t manager = sonde_field_offset(vm, "G1CollectedHeap", "_hrm");
    int64_t regions = one_of(vm, "HeapRegionManager", "G1HeapRegionManager", "_regions");
    int64_t use = one_of(vm, "HeapRegion", "G1HeapRegion", "_type");
    int64_t tag = one_of(vm, "HeapRegionType", "G1HeapRegionType", "_tag");
    first_at = sonde_field_offset(vm, "G1HeapRegionTable", "_biased_base");
    shift_at = sonde_field_offset(vm, "G1HeapRegionTable", "_shift_by");
    table_at = manager + regions;
    use_at = use + tag;
    return manager >= 0 && regions >= 0 && use >= 0 && tag >= 0 && first_at >= 0 && shift_at >= 0;
}

static bool find_generations(void *vm, const char *type, const char *space)
{
    eden_at = sonde_field_offset(vm, type, "_eden_space");
    from_at = sonde_field_offset(vm, type, "_from_space");
    to_at = sonde_field_offset(vm, type, "_to_space");
    bottom_at = one_of(vm, space, "Space", "_bottom");
    end_at = one_of(vm, space, "Space", "_end");
    return eden_at >= 0 && from_at >= 0 && to_at >= 0 && bottom_at >= 0 && end_at >= 0;
}

void sonde_heap_memory_prepare(void)
{
    void *vm = sonde_vm_library();
    heap_at = sonde_static_field(vm, "Universe", "_collectedHeap");
    reserved_at = sonde_field_offset(vm, "CollectedHeap", "_reserved");
    start_at = sonde_field_offset(vm, "MemRegion", "_start");
    words_at = sonde_field_offset(vm, "MemRegion", "_word_size");
    if (reserved_at < 0 || start_at < 0 || words_at < 0)
        heap_at = NULL;
    made_of = OTHER;
    young_static = NULL;
    if (has_flag(vm, "UseG1GC")) {
        if (find_regions(vm))
            made_of = REGIONS;
    } else if (has_flag(vm, "UseParallelGC")) {
        young_static = sonde_static_field(vm, "ParallelScavengeHeap", "_young_gen");
        if (young_static && find_generations(vm, "PSYoungGen", "MutableSpace"))
            made_of = GENERATIONS;
    } else if (has_flag(vm, "UseSerialGC")) {
        young_at = one_of(vm, "GenCollectedHeap", "SerialHeap", "_young_gen");
        if (young_at >= 0 && find_generations(vm, "DefNewGeneration", "ContiguousSpace"))
            made_of = GENERATIONS;
    }
}

SONDE_FOREIGN static uintptr_t word_at(uintptr_t record, int64_t offset)
{
    return *(const uintptr_t *)(record + (uintptr_t)offset);
}

SONDE_FOREIGN static uint8_t use_of_region(uintptr_t heap, uintptr_t address)
{
    uintptr_t table = heap + (uintptr_t)table_at;
    uint32_t shift = *(const uint32_t *)(table + (uintptr_t)shift_at);
    uintptr_t first = word_at(table, first_at);
    uintptr_t region = shift < 64 ? ((const uintptr_t *)first)[address >> shift] : 0;
    if (!region)
        return SONDE_MEMORY_HEAP;
    uint32_t use = *(const uint32_t *)(region + (uintptr_t)use_at);
    switch (use) {
    case FREE:
        return SONDE_MEMORY_HEAP;
    case EDEN:
        return SONDE_MEMORY_EDEN;
    case SURVIVOR:
        return SONDE_MEMORY_SURVIVOR;
    default:
        return use & HUMONGOUS ? SONDE_MEMORY_HUMONGOUS : SONDE_MEMORY_OLD;
    }
}

SONDE_FOREIGN static bool is_in(uintptr_t young, int64_t space_at, uintptr_t address)
{
    uintptr_t space = word_at(young, space_at), bottom = word_at(space, bottom_at);
    return address - bottom < word_at(space, end_at) - bottom;
}

SONDE_FOREIGN static uint8_t generation_of(uintptr_t heap, uintptr_t address)
{
    uintptr_t young = young_static ? *young_static : word_at(heap, young_at);
    if (is_in(young, eden_at, address))
        return SONDE_MEMORY_EDEN;
    if (is_in(young, from_at, address) || is_in(young, to_at, address))
        return SONDE_MEMORY_SURVIVOR;
    return SONDE_MEMORY_OLD;
}

SONDE_FOREIGN void sonde_hotspot_data(sonde_thread *thread, uintptr_t address, sonde_data *found)
{
    (void)thread;
    uintptr_t heap = heap_at ? *heap_at : 0;
    if (!heap)
        return;
    uintptr_t reserved = heap + (uintptr_t)reserved_at;
    if (address - word_at(reserved, start_at) >= word_at(reserved, words_at) * sizeof(uintptr_t))
        return;
    found->memory = made_of == REGIONS       ? use_of_region(heap, address)
                    : made_of == GENERATIONS ? generation_of(heap, address)
                                             : SONDE_MEMORY_HEAP;
}
