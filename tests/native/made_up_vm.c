#include "made_up_vm.h"

#include "hotspot/vm/code_cache.h"
#include "hotspot/vm/vm.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

// ---- its structures

code_heap heap;
static growable_array heaps = {1, 1, (code_heap *[]){&heap}}, *heaps_at = &heaps;
static stub_queue queue, *queue_at = &queue;
uintptr_t entry;

struct_entry struct_entries[] = {
    {"CodeCache", "_heaps", "", 1, 0, &heaps_at},
    {"GrowableArrayBase", "_len", "", 0, offsetof(growable_array, length), NULL},
    {"GrowableArray<int>", "_data", "", 0, offsetof(growable_array, data), NULL},
    {"CodeHeap", "_memory", "", 0, offsetof(code_heap, memory), NULL},
    {"CodeHeap", "_segmap", "", 0, offsetof(code_heap, map), NULL},
    {"CodeHeap", "_log2_segment_size", "", 0, offsetof(code_heap, shift), NULL},
    {"VirtualSpace", "_low", "", 0, offsetof(virtual_space, low), NULL},
    {"VirtualSpace", "_high", "", 0, offsetof(virtual_space, high), NULL},
    {"CodeBlob", "_name", "", 0, offsetof(code_blob, name), NULL},
    {"CodeBlob", "_frame_size", "", 0, offsetof(code_blob, frame_size), NULL},
    {"AbstractInterpreter", "_code", "", 1, 0, &queue_at},
    {"StubQueue", "_stub_buffer", "", 0, offsetof(stub_queue, buffer), NULL},
    {"StubQueue", "_buffer_limit", "", 0, offsetof(stub_queue, limit), NULL},
    {"nmethod", "_compile_id", "", 0, offsetof(code_blob, number), NULL},
    {"nmethod", "_stub_offset", "", 0, offsetof(code_blob, stubs), NULL},
    {"StubRoutines", "_call_stub_return_address", "", 1, 0, &entry},
    {"JavaCallWrapper", "_anchor", "", 0, offsetof(java_call, left), NULL},
    {"JavaFrameAnchor", "_last_Java_sp", "", 0, 0, NULL},
    {0},
};
struct_entry *const first_spare = &struct_entries[13];
type_entry type_entries[] = {
    {"CodeBlob", NULL, 0, 0, 0, sizeof(code_blob)},
    {"HeapBlock", NULL, 0, 0, 0, sizeof(heap_block)},
    {0},
};

// Looked up by name, as a VM exports them.
#define EXPORTED __attribute__((visibility("default")))
EXPORTED struct_entry *gHotSpotVMStructs = struct_entries;
EXPORTED uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct_entry);
EXPORTED uint64_t gHotSpotVMStructEntryTypeNameOffset = offsetof(struct_entry, type);
EXPORTED uint64_t gHotSpotVMStructEntryFieldNameOffset = offsetof(struct_entry, field);
EXPORTED uint64_t gHotSpotVMStructEntryIsStaticOffset = offsetof(struct_entry, is_static);
EXPORTED uint64_t gHotSpotVMStructEntryOffsetOffset = offsetof(struct_entry, offset);
EXPORTED uint64_t gHotSpotVMStructEntryAddressOffset = offsetof(struct_entry, address);
EXPORTED type_entry *gHotSpotVMTypes = type_entries;
EXPORTED uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(type_entry);
EXPORTED uint64_t gHotSpotVMTypeEntryTypeNameOffset = offsetof(type_entry, type);
EXPORTED uint64_t gHotSpotVMTypeEntrySizeOffset = offsetof(type_entry, size);

void *sonde_vm_library(void) { return dlopen(NULL, RTLD_LAZY); }

// ---- its code

_Static_assert(CODE >= sizeof(heap_block) + sizeof(code_blob), "the code lies behind them");

uint8_t *map;
unsigned used;

uint8_t *reserve(uintptr_t wish, size_t length)
{
    void *at = mmap((void *)wish, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

// What lies before it and beyond its end cannot be read. As a VM has it, its own code can be called
// from there.
static void make_heap(void)
{
    uintptr_t near = ((uintptr_t)vm_function & -(uintptr_t)PAGE) - (1u << 28);
    uint8_t *memory = reserve(near, PAGE + 2 * COMMITTED) + PAGE;
    map = reserve(0, 2 * PAGE);
    CHECK(mprotect(memory, COMMITTED, PROT_READ | PROT_WRITE) == 0);
    CHECK(mprotect(map, PAGE, PROT_READ | PROT_WRITE) == 0);
    memset(map, FREE, SEGMENTS);
    heap.memory =
        (virtual_space){(uintptr_t)memory, (uintptr_t)memory, (uintptr_t)memory + COMMITTED};
    heap.map = (virtual_space){(uintptr_t)map, (uintptr_t)map, (uintptr_t)map + SEGMENTS};
    heap.shift = SHIFT;
}

int32_t blobs_made;

void put_head(unsigned segment, const char *name, int32_t words)
{
    uint8_t *at = (uint8_t *)heap.memory.low + ((size_t)segment << SHIFT);
    heap_block block = {1, true};
    code_blob blob = {NULL, name, 0, words, ++blobs_made, STUBS};
    memcpy(at, &block, sizeof block);
    memcpy(at + sizeof block, &blob, sizeof blob);
}

uint8_t *make_blob(const char *name, int32_t words, unsigned segments)
{
    unsigned first = used;
    used += segments;
    CHECK(used <= SEGMENTS);
    uint8_t *at = (uint8_t *)heap.memory.low + ((size_t)first << SHIFT);
    memset(at, 0x90, (size_t)segments << SHIFT);
    put_head(first, name, words);
    // The steps back to the first one, from the start again when a byte holds no more (heap.cpp).
    unsigned steps = 0;
    for (unsigned i = 0; i < segments; i++) {
        map[first + i] = (uint8_t)steps++;
        if (steps == FREE)
            steps = 1;
    }
    return at + CODE;
}

uintptr_t put(uint8_t *at, const void *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return (uintptr_t)at + length;
}

uintptr_t put_call(uint8_t *at, const void *to)
{
    intptr_t distance = (intptr_t)((uintptr_t)to - (uintptr_t)(at + 5));
    int32_t far = (int32_t)distance;
    CHECK(far == distance);
    at[0] = 0xe8;
    return put(at + 1, &far, sizeof far);
}

uintptr_t put_far_call(uint8_t *at, const void *to)
{
    uintptr_t target = (uintptr_t)to;
    put(at, "\x49\xba", 2);
    put(at + 2, &target, sizeof target);
    return put(at + 10, "\x41\xff\xd2", 3);
}

static uintptr_t put_register_call(uint8_t *at) { return put(at, "\xff\xd0", 2); }

uint8_t *interpreter, *outer, *caller, *callee, *routine, *second, *third, *fourth, *stub;
uintptr_t in_outer, of_callee, of_callee_by_register, of_routine, of_routine_far,
    of_routine_by_register, of_vm, of_stub;
uintptr_t in_interpreter;

static void make_code(void)
{
    interpreter = make_blob("Interpreter", 0, 8);
    outer = make_blob(METHOD, OUTER, 2);
    caller = make_blob(METHOD, CALLER, 4);
    callee = make_blob(METHOD, CALLEE, 4);
    // Close to methods: who has called those has not called these.
    routine = make_blob("StubRoutines (1)", 0, 4);
    second = make_blob("StubRoutines (2)", 0, 4);
    third = make_blob("StubRoutines (3)", 0, 2);
    fourth = make_blob("StubRoutines (4)", 0, 2);
    stub = make_blob("RuntimeStub - resolve", STUB, 2);
    queue.buffer = (uintptr_t)interpreter;
    queue.limit = 8 * SEGMENT - CODE;
    in_interpreter = (uintptr_t)interpreter + 100;
    entry = (uintptr_t)fourth + 20;
    in_outer = put_call(outer + 40, caller);
    of_callee = put_call(caller + 40, callee);
    of_callee_by_register = put_register_call(caller + 60);
    of_routine = put_call(caller + 80, routine);
    of_routine_far = put_far_call(caller + 100, routine);
    of_routine_by_register = put_register_call(caller + 120);
    of_vm = put_far_call(caller + 140, (void *)vm_function);
    of_stub = put_call(caller + 160, stub);
}

void make_vm(void)
{
    make_heap();
    make_code();
    sonde_vm_code_prepare();
}
