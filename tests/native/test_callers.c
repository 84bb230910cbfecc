// Callers of generated code, found by a stack and by what the code is about to do: of a VM that is
// made up here, whose code is only read.
#define _GNU_SOURCE
#include "check.h"
#include "guard.h"
#include "hotspot/callers.h"
#include "hotspot/vm.h"
#include "hotspot/vm_code.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

// ---- the VM: its structures, and what it tells of them

typedef struct {
    uintptr_t boundary, low, high;
} virtual_space;

typedef struct {
    const void *class;
    virtual_space memory, map;
    int32_t segments, shift;
} code_heap;

typedef struct {
    int32_t length, room;
    code_heap **data;
} growable_array;

typedef struct {
    uint64_t length;
    bool used;
} heap_block;

typedef struct {
    const void *class;
    const char *name;
    int32_t size, frame_size;
} code_blob;

typedef struct {
    const void *interface;
    uintptr_t buffer;
    int32_t size, limit;
} stub_queue;

static code_heap heap;
static growable_array heaps = {1, 1, (code_heap *[]){&heap}}, *heaps_at = &heaps;
static stub_queue queue, *queue_at = &queue;

// As in vmStructs.hpp.
typedef struct {
    const char *type, *field, *of;
    int32_t is_static;
    uint64_t offset;
    void *address;
} struct_entry;

typedef struct {
    const char *type, *super;
    int32_t is_oop, is_integer, is_unsigned;
    uint64_t size;
} type_entry;

static struct_entry struct_entries[] = {
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
    {0},
};
static type_entry type_entries[] = {
    {"CodeBlob", NULL, 0, 0, 0, sizeof(code_blob)},
    {"HeapBlock", NULL, 0, 0, 0, sizeof(heap_block)},
    {0},
};

// Looked up by name, as a VM exports them.
struct_entry *gHotSpotVMStructs = struct_entries;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct_entry);
uint64_t gHotSpotVMStructEntryTypeNameOffset = offsetof(struct_entry, type);
uint64_t gHotSpotVMStructEntryFieldNameOffset = offsetof(struct_entry, field);
uint64_t gHotSpotVMStructEntryIsStaticOffset = offsetof(struct_entry, is_static);
uint64_t gHotSpotVMStructEntryOffsetOffset = offsetof(struct_entry, offset);
uint64_t gHotSpotVMStructEntryAddressOffset = offsetof(struct_entry, address);
type_entry *gHotSpotVMTypes = type_entries;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(type_entry);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = offsetof(type_entry, type);
uint64_t gHotSpotVMTypeEntrySizeOffset = offsetof(type_entry, size);

void *sonde_vm_library(void) { return dlopen(NULL, RTLD_LAZY); }

// Of the library that has a VM's name.
int vm_function(int);

// ---- its code

#define SHIFT 7
#define SEGMENT (1 << SHIFT)
#define SEGMENTS 1024
#define COMMITTED (SEGMENTS << SHIFT)
#define FREE 255
// Where the code of a blob begins, after what is known about it.
#define CODE 48
_Static_assert(CODE >= sizeof(heap_block) + sizeof(code_blob), "the code lies behind them");

static uint8_t *map;
static unsigned used; // segments

#define PAGE 4096

static uint8_t *reserve(uintptr_t wish, size_t length)
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

static void put_head(unsigned segment, const char *name, int32_t words)
{
    uint8_t *at = (uint8_t *)heap.memory.low + ((size_t)segment << SHIFT);
    heap_block block = {1, true};
    code_blob blob = {NULL, name, 0, words};
    memcpy(at, &block, sizeof block);
    memcpy(at + sizeof block, &blob, sizeof blob);
}

// Its code, which does nothing yet.
static uint8_t *make_blob(const char *name, int32_t words, unsigned segments)
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

static uintptr_t put(uint8_t *at, const void *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return (uintptr_t)at + length;
}

// Each returns where the call returns to.
static uintptr_t put_call(uint8_t *at, const void *to)
{
    intptr_t distance = (intptr_t)((uintptr_t)to - (uintptr_t)(at + 5));
    int32_t far = (int32_t)distance;
    CHECK(far == distance);
    at[0] = 0xe8;
    return put(at + 1, &far, sizeof far);
}

static uintptr_t put_far_call(uint8_t *at, const void *to)
{
    uintptr_t target = (uintptr_t)to;
    put(at, "\x49\xba", 2);
    put(at + 2, &target, sizeof target);
    return put(at + 10, "\x41\xff\xd2", 3);
}

static uintptr_t put_register_call(uint8_t *at) { return put(at, "\xff\xd0", 2); }

#define METHOD "nmethod"

// Words of a frame, no two the same: a wrong size leads elsewhere.
enum { OUTER = 5, CALLER = 9, CALLEE = 6, STUB = 7 };

static uint8_t *interpreter, *outer, *caller, *callee, *routine, *second, *third, *fourth, *stub;
// Calls in methods, each by where it returns to.
static uintptr_t in_outer, of_callee, of_callee_by_register, of_routine, of_routine_far,
    of_routine_by_register, of_vm, of_stub;
static uintptr_t in_interpreter;

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
    in_outer = put_call(outer + 40, caller);
    of_callee = put_call(caller + 40, callee);
    of_callee_by_register = put_register_call(caller + 60);
    of_routine = put_call(caller + 80, routine);
    of_routine_far = put_far_call(caller + 100, routine);
    of_routine_by_register = put_register_call(caller + 120);
    of_vm = put_far_call(caller + 140, (void *)vm_function);
    of_stub = put_call(caller + 160, stub);
}

// ---- a thread: its stack, from the outside in, and its registers

#define WORDS 1024
// What may be read above a stack pointer.
#define ABOVE 300

static uintptr_t *stack, *sp;
// What is in the register of frame pointers may be anything in compiled code.
#define FP_OF_OUTER 0x1001u
#define FP_OF_CALLER 0x2002u
#define FP_OF_CALLEE 0x3003u

static void make_stack(void)
{
    size_t length = WORDS * sizeof *stack;
    uint8_t *at = reserve(0, length + 2 * PAGE);
    CHECK(mprotect(at + PAGE, length, PROT_READ | PROT_WRITE) == 0);
    stack = (uintptr_t *)(void *)(at + PAGE);
}

static void push(uintptr_t word) { *--sp = word; }

static void push_many(unsigned words)
{
    while (words--)
        push(0);
}

// A method that was called has saved the register, and made room.
static void push_frame(unsigned words, uintptr_t saved)
{
    push(saved);
    push_many(words - 2);
}

// The interpreter has called one method, and that the other, which is about to call.
static void begin_in_caller(void)
{
    memset(stack, 0, WORDS * sizeof *stack);
    sp = stack + WORDS - ABOVE;
    uintptr_t interpreters_fp = (uintptr_t)(sp + 20);
    push(in_interpreter);
    push_frame(OUTER, interpreters_fp);
    push(in_outer);
    push_frame(CALLER, FP_OF_OUTER);
}

static ucontext_t context;
static sonde_places found;

static void find(const void *pc, uintptr_t fp, bool in_java)
{
    greg_t *registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = (greg_t)pc;
    registers[REG_RSP] = (greg_t)sp;
    registers[REG_RBP] = (greg_t)fp;
    memset(&found, 0x5a, sizeof found);
    found.walkable = true;
    sonde_find_places(&context, in_java, &found);
}

static void find_below(const void *pc, uintptr_t fp)
{
    memset(&found, 0x5a, sizeof found);
    found.walkable = true;
    sonde_find_places_below(&(sonde_place){(uintptr_t)pc, fp, sp}, &found);
}

#define CHECK_PLACE(number, pc_, fp_, sp_)                                                         \
    do {                                                                                           \
        CHECK_EQUAL(found.places[number].pc, pc_);                                                 \
        CHECK_EQUAL(found.places[number].fp, fp_);                                                 \
        CHECK_EQUAL(found.places[number].sp - stack, (sp_) - stack);                               \
    } while (0)

#define CHECK_ONE(pc_, fp_, sp_)                                                                   \
    do {                                                                                           \
        CHECK(!found.walkable);                                                                    \
        CHECK_EQUAL(found.count, 1);                                                               \
        CHECK_PLACE(0, pc_, fp_, sp_);                                                             \
    } while (0)

#define CHECK_NONE()                                                                               \
    do {                                                                                           \
        CHECK(!found.walkable);                                                                    \
        CHECK_EQUAL(found.count, 0);                                                               \
    } while (0)

// ---- what is where

static void knows_its_blobs(void)
{
    sonde_blob blob;
    CHECK(sonde_blob_at((uintptr_t)callee, &blob));
    CHECK(blob.is_method);
    CHECK_EQUAL(blob.words, CALLEE);
    CHECK_EQUAL(blob.from, (uintptr_t)callee - CODE + sizeof(heap_block));
    CHECK(sonde_blob_at((uintptr_t)callee + 4 * SEGMENT - CODE - 1, &blob));
    CHECK_EQUAL(blob.words, CALLEE);
    CHECK(sonde_blob_at((uintptr_t)stub + 1, &blob));
    CHECK(!blob.is_method);
    CHECK_EQUAL(blob.words, STUB);
    // What describes a block is no part of what is in it.
    CHECK(!sonde_blob_at((uintptr_t)callee - CODE, &blob));
    CHECK(sonde_is_generated((uintptr_t)callee - CODE));
    // More steps back than a byte holds.
    uint8_t *large = make_blob(METHOD, 3, 300);
    for (unsigned at = 0; at < 300 * SEGMENT - CODE; at += 61) {
        CHECK(sonde_blob_at((uintptr_t)large + at, &blob));
        CHECK_EQUAL(blob.from, (uintptr_t)large - CODE + sizeof(heap_block));
    }
    // A method that is no more.
    memset(map + used - 300, FREE, 300);
    used -= 300;
    for (unsigned at = 0; at < 300 * SEGMENT - CODE; at += 61) {
        CHECK(sonde_is_generated((uintptr_t)large + at));
        CHECK(!sonde_blob_at((uintptr_t)large + at, &blob));
    }
    // A map that leads out of it: it is read while it changes.
    uint8_t steps = map[2];
    map[2] = 3;
    CHECK(!sonde_blob_at(heap.memory.low + 2 * SEGMENT + 5, &blob));
    map[2] = steps;
    CHECK(sonde_blob_at(heap.memory.low + 2 * SEGMENT + 5, &blob));
    // One that begins as a method is called, but is something else.
    CHECK(sonde_blob_at((uintptr_t)make_blob("nmethods", 3, 1), &blob));
    CHECK(!blob.is_method);
    CHECK(sonde_blob_at((uintptr_t)make_blob(NULL, 3, 1), &blob));
    CHECK(!blob.is_method);
}

static void knows_what_is_generated(void)
{
    uintptr_t low = heap.memory.low, high = heap.memory.high;
    CHECK(sonde_is_generated(low) && sonde_is_generated(high - 1));
    CHECK(!sonde_is_generated(low - 1) && !sonde_is_generated(high));
    CHECK(!sonde_is_generated(0) && !sonde_is_generated(UINTPTR_MAX));
    uintptr_t from = (uintptr_t)interpreter, to = from + 8 * SEGMENT - CODE;
    CHECK(sonde_is_interpreter(from) && sonde_is_interpreter(to - 1));
    CHECK(!sonde_is_interpreter(from - 1) && !sonde_is_interpreter(to));
    CHECK(sonde_is_vm_code((uintptr_t)vm_function));
    CHECK(!sonde_is_vm_code((uintptr_t)knows_what_is_generated) && !sonde_is_vm_code(low));
}

// Code is made while we look: nothing of it was asked for once and for all.
static void sees_the_heap_grow(void)
{
    sonde_blob blob;
    uintptr_t end = heap.memory.high;
    CHECK(!sonde_blob_at(end + CODE, &blob));
    CHECK(mprotect((void *)end, PAGE, PROT_READ | PROT_WRITE) == 0);
    heap.memory.high += PAGE;
    put_head(SEGMENTS, METHOD, 4);
    map[SEGMENTS] = 0;
    CHECK(sonde_blob_at(end + CODE, &blob));
    CHECK_EQUAL(blob.words, 4);
    heap.memory.high -= PAGE;
    CHECK(mprotect((void *)end, PAGE, PROT_NONE) == 0);
    CHECK(!sonde_blob_at(end + CODE, &blob));
}

static void does_without_what_is_not_told(void)
{
    for (struct_entry *entry = struct_entries; entry->type; entry++) {
        const char *field = entry->field;
        entry->field = "_other";
        sonde_vm_code_prepare();
        CHECK(!sonde_is_generated((uintptr_t)callee) || !sonde_is_interpreter(in_interpreter));
        begin_in_caller();
        push(of_callee);
        push_frame(CALLEE, FP_OF_CALLER);
        find(callee + 100, FP_OF_CALLEE, true);
        CHECK_EQUAL(found.walkable, sonde_is_generated((uintptr_t)callee));
        entry->field = field;
    }
    type_entries[1].type = "OtherBlock";
    sonde_vm_code_prepare();
    CHECK(!sonde_is_generated((uintptr_t)callee));
    type_entries[1].type = "HeapBlock";
    sonde_vm_code_prepare();
    CHECK(sonde_is_generated((uintptr_t)callee) && sonde_is_interpreter(in_interpreter));
}

// ---- methods

static void in_the_middle_of_a_method(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    for (int in_java = 0; in_java < 2; in_java++) {
        find(callee + 100, FP_OF_CALLEE, in_java);
        CHECK(found.walkable);
        CHECK_EQUAL(found.count, 1);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
    }
}

// Each with the bytes around it.
typedef struct {
    const char *bytes;
    uint8_t length, at;
    bool saved; // the caller's frame pointer is on the stack
} instruction;
#define CODED(bytes) bytes, sizeof(bytes) - 1

static void at_the_edges_of_a_method(void)
{
    static const instruction edges[] = {
        {CODED("\x55"), 0, false},                             // push rbp
        {CODED("\x89\x84\x24\x00\xc0\xfe\xff"), 0, false},     // mov [rsp - 0x14000], eax
        {CODED("\x55\x48\x83\xec\x20"), 1, true},              // sub rsp, 0x20
        {CODED("\x55\x48\x81\xec\x20\x01\x00\x00"), 1, true},  // sub rsp, 0x120
        {CODED("\x90\x48\x83\xec\x20"), 1, false},             // without a push before
        {CODED("\x90\x48\x81\xec\x20\x01\x00\x00"), 1, false}, // the same
        {CODED("\x5d\xc3"), 0, true},                          // pop rbp
        {CODED("\x5d\xc3"), 1, false},                         // ret
#define POLL "\x49\x3b\xa7\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\xc3"
        {CODED(POLL), 0, false},  // cmp rsp, [r15 + 0x348]
        {CODED(POLL), 7, false},  // ja
        {CODED(POLL), 13, false}, // ret
#define NEAR_POLL "\x49\x3b\x67\x28\x0f\x87\x10\x00\x00\x00\xc3"
        {CODED(NEAR_POLL), 0, false}, // cmp rsp, [r15 + 0x28]
        {CODED(NEAR_POLL), 4, false}, // ja
    };
    for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++) {
        uint8_t *at = callee + 200;
        memset(at, 0x90, 32);
        put(at, edges[i].bytes, edges[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_callee);
        if (edges[i].saved)
            push(FP_OF_CALLER);
        find(at + edges[i].at, edges[i].saved ? FP_OF_CALLEE : FP_OF_CALLER, true);
        CHECK_ONE(of_callee - 5, FP_OF_CALLER, callers_sp);
        // However it was called.
        callers_sp[-1] = of_callee_by_register;
        find(at + edges[i].at, edges[i].saved ? FP_OF_CALLEE : FP_OF_CALLER, true);
        CHECK_ONE(of_callee_by_register - 2, FP_OF_CALLER, callers_sp);
    }
}

// Return addresses of earlier calls lie where they would be looked for at an edge.
static void not_at_what_resembles_an_edge(void)
{
    static const instruction others[] = {
        {CODED("\x89\x84\x24\x00\x01\x00\x00"), 0, false},                             // rsp + …
        {CODED("\x89\x44\x24\x10\x90\x90\xff"), 0, false},                             // rsp + …
        {CODED("\x48\x83\xc4\x20"), 0, false},                                         // add rsp
        {CODED("\x48\x83\xe8\x20"), 0, false},                                         // sub rax
        {CODED("\x49\x3b\xa7\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\x90"), 0, false}, // no ret
        {CODED("\x49\x3b\xa7\x48\x03\x00\x00\x0f\x86\x10\x00\x00\x00\xc3"), 0, false}, // jbe
        {CODED("\x49\x3b\x87\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\xc3"), 0, false}, // cmp rax
        {CODED("\x0f\x87\x10\x00\x00\x00\x90"), 0, false},                             // ja, no ret
        {CODED("\x0f\x86\x10\x00\x00\x00\xc3"), 0, false},                             // jbe
    };
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        uint8_t *at = callee + 200;
        memset(at, 0x90, 32);
        put(at, others[i].bytes, others[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_callee);
        push_frame(CALLEE, FP_OF_CALLER);
        sp[0] = sp[1] = of_callee_by_register;
        find(at, FP_OF_CALLEE, true);
        CHECK(found.walkable);
        CHECK_EQUAL(found.count, 1);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
    }
}

// An instruction of an edge, where no return address lies as there.
static void pushes_the_frame_pointer_for_other_reasons(void)
{
    callee[200] = 0x55;
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    find(callee + 200, FP_OF_CALLEE, true);
    CHECK(found.walkable);
}

static void before_a_method_has_begun(void)
{
    uint8_t *at = callee + 3; // looks whether it is the one that was meant
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_callee);
    find(at, FP_OF_CALLER, true);
    CHECK(!found.walkable);
    CHECK_EQUAL(found.count, 3); // the callers of its caller come last
    CHECK_PLACE(0, of_callee - 5, FP_OF_CALLER, callers_sp);
}

static void with_registers_pushed(void)
{
    const uintptr_t by[] = {of_callee, of_callee_by_register};
    for (int i = 0; i < 2; i++)
        for (unsigned pushed = 1; pushed <= 24; pushed++) {
            begin_in_caller();
            push(by[i]);
            push_frame(CALLEE, FP_OF_CALLER);
            uintptr_t *own_sp = sp;
            push_many(pushed);
            find(callee + 100, FP_OF_CALLEE, true);
            CHECK(!found.walkable);
            CHECK_PLACE(0, (uintptr_t)callee + 100, FP_OF_CALLEE, own_sp);
            // What lies further out is as good a guess, if it is not out of reach.
            CHECK_EQUAL(found.count, 1 + (pushed + CALLER <= 24) + (pushed + CALLER + OUTER <= 24));
        }
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    push_many(25);
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK_NONE();
}

// One that calls this very method is likelier than a nearer one of which that is not known.
static void the_sure_one_first(void)
{
    begin_in_caller();
    push(of_callee);
    push_frame(CALLEE, FP_OF_CALLER);
    uintptr_t *own_sp = sp;
    push_many(3);
    sp[CALLEE - 1 + 1] = of_callee_by_register; // left there
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK_EQUAL(found.count, 4);
    CHECK_PLACE(0, (uintptr_t)callee + 100, FP_OF_CALLEE, own_sp);
    CHECK_PLACE(1, (uintptr_t)callee + 100, FP_OF_CALLEE, sp + 1);
}

static void no_more_than_there_is_room_for(void)
{
    const uintptr_t by[] = {of_callee, of_callee_by_register};
    const unsigned most = sizeof found.places / sizeof *found.places;
    for (int i = 0; i < 2; i++) {
        begin_in_caller();
        for (int k = 0; k < 40; k++)
            push(by[i]);
        push_many(CALLEE);
        find(callee + 3, FP_OF_CALLEE, true);
        CHECK(!found.walkable);
        CHECK_EQUAL(found.count, most);
        push(of_callee); // may be its own, too
        find(callee + 3, FP_OF_CALLEE, true);
        CHECK_EQUAL(found.count, most);
        CHECK_PLACE(0, of_callee - 5, FP_OF_CALLEE, sp + 1);
    }
}

// ---- calls

static void knows_calls_when_it_sees_one(void)
{
    static const struct {
        const char *bytes;
        uint8_t length;
        bool is_call;
    } forms[] = {
        {CODED("\xff\xd0"), true},                     // call rax
        {CODED("\x41\xff\xd3"), true},                 // call r11
        {CODED("\xff\x10"), true},                     // call [rax]
        {CODED("\x41\xff\x13"), true},                 // call [r11]
        {CODED("\xff\x50\x40"), true},                 // call [rax + 0x40]
        {CODED("\x41\xff\x53\x40"), true},             // call [r11 + 0x40]
        {CODED("\xff\x90\x40\x01\x00\x00"), true},     // call [rax + 0x140]
        {CODED("\x41\xff\x93\x40\x01\x00\x00"), true}, // call [r11 + 0x140]
        {CODED("\xff\xe0"), false},                    // jmp rax
        {CODED("\xff\x60\x40"), false},                // jmp [rax + 0x40]
        {CODED("\xff\xf0"), false},                    // push rax
        {CODED("\xe8\xff\xff\xff\x7f"), false},        // to where no code is
        {CODED("\x90\x90\x90\x90\x90"), false},
    };
    callee[200] = 0x55;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint8_t *at = caller + 200;
        memset(at, 0x90, 32);
        uintptr_t after = put(at, forms[i].bytes, forms[i].length);
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(after);
        find(callee + 200, FP_OF_CALLER, true);
        if (forms[i].is_call)
            CHECK_ONE((uintptr_t)at, FP_OF_CALLER, callers_sp);
        else // not from there
            CHECK(!found.count || found.places[0].pc == (uintptr_t)callee + 200);
    }
    // The VM's own code, which is not generated.
    memset(caller + 200, 0x90, 32);
    uintptr_t after = put_call(caller + 200, (void *)vm_function);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(after);
    find((void *)vm_function, FP_OF_CALLER, true);
    CHECK_ONE(after - 5, FP_OF_CALLER, callers_sp);
}

// Before the first one there may be nothing to read.
static void looks_at_nothing_before_the_heap(void)
{
    for (uintptr_t i = 0; i < 13; i++) {
        begin_in_caller();
        memset(sp, 0, 100 * sizeof *sp);
        push(heap.memory.low + i);
        find(callee + 200, FP_OF_CALLER, true);
        CHECK_NONE();
    }
}

// ---- routines

static void in_routines(void)
{
    const struct {
        uintptr_t by;
        int length;
    } calls[] = {{of_routine, 5}, {of_routine_far, 3}};
    for (int i = 0; i < 2; i++)
        for (unsigned pushed = 0; pushed <= 255; pushed += pushed < 8 ? 1 : 19) {
            begin_in_caller();
            uintptr_t *callers_sp = sp;
            push(calls[i].by);
            push_many(pushed);
            find(routine + 50, FP_OF_CALLER, true);
            CHECK_ONE(calls[i].by - (uintptr_t)calls[i].length, FP_OF_CALLER, callers_sp);
        }
}

// A blob may hold many of them: a call of one far before is that of another.
static void in_a_routine_of_many(void)
{
    uint8_t *many = make_blob("StubRoutines (5)", 0, 300);
    uintptr_t of_first = put_call(caller + 180, many);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_first);
    push_many(2);
    find(many, FP_OF_CALLER, true);
    CHECK_ONE(of_first - 5, FP_OF_CALLER, callers_sp);
    find(many + 16383, FP_OF_CALLER, true);
    CHECK_ONE(of_first - 5, FP_OF_CALLER, callers_sp);
    find(many + 16384, FP_OF_CALLER, true);
    CHECK_NONE();
}

static void in_routines_that_call_routines(void)
{
    uintptr_t of_second = put_call(routine + 100, second);
    uintptr_t of_third = put_call(second + 100, third);
    uintptr_t of_fourth = put_call(third + 100, fourth);
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine);
    push_many(2);
    push(of_second);
    push_many(3);
    find(second + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    push(of_third);
    find(third + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    // Somewhere it ends.
    push(of_fourth);
    find(fourth + 50, FP_OF_CALLER, true);
    CHECK_NONE();
}

// C1 pushes what it passes: the method's frame is larger than it says.
static void in_routines_that_got_something_pushed(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push_many(2);
    push(of_routine);
    find(routine + 50, FP_OF_CALLER, true);
    CHECK(!found.walkable);
    CHECK_EQUAL(found.count, 2);
    CHECK_PLACE(0, of_routine - 5, FP_OF_CALLER, callers_sp);
}

static void an_earlier_call_is_not_taken(void)
{
    for (unsigned room = 0; room < 3; room++) {
        // Earlier, its caller had a frame whose return address lay where the call under way has
        // put its own.
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_routine);
        uintptr_t *real = sp;
        push_many(CALLER - 1);
        push(of_routine_far);
        CHECK(sp + CALLER == real);
        push_many(room);
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        // The same one call further out: it leads there by two frames.
        sp[room] = 0;
        push_many(OUTER);
        real[-OUTER] = in_outer;
        real[-OUTER - CALLER] = of_routine;
        sp = real - OUTER - CALLER - room;
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        // It leads to what is no return address any more.
        real[-OUTER] = 12345;
        find(routine + 50, FP_OF_CALLER, true);
        CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
    }
}

// Which one of several that lead nowhere is under way cannot be told.
static void of_several_that_lead_nowhere_none_is_taken(void)
{
    begin_in_caller();
    memset(sp, 0, 100 * sizeof *sp);
    const uintptr_t by[] = {of_routine, of_routine_far};
    for (int i = 0; i < 2; i++) {
        push(in_outer);
        push_frame(CALLER, FP_OF_OUTER);
        uintptr_t *callers_sp = sp;
        push(by[i]);
        push_many(2);
        find(routine + 50, FP_OF_CALLER, true);
        if (i == 0)
            CHECK_ONE(of_routine - 5, FP_OF_CALLER, callers_sp);
        else
            CHECK_NONE();
    }
}

static void in_routines_with_a_frame_pointer(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine_by_register);
    push(FP_OF_CALLER);
    uintptr_t fp = (uintptr_t)sp;
    push_many(5);
    find(routine + 50, fp, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    find(routine + 50, (uintptr_t)(sp - 1), true);
    CHECK_NONE();
    find(routine + 50, (uintptr_t)sp + 65536, true);
    CHECK_NONE();
    // One that is the caller's, who has a frame pointer by chance.
    sp[2] = of_callee;
    find(routine + 50, fp, true);
    CHECK_NONE();
    // No frame pointer: such ones are whole words, even if all fits otherwise.
    sp[2] = 0;
    memmove((char *)sp + 4, sp, 100 * sizeof *sp);
    find(routine + 50, fp + 4, true);
    CHECK_NONE();
}

static void in_routines_without_a_frame(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_routine_by_register);
    find(routine + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    push(FP_OF_CALLER); // saved, and the same yet
    find(routine + 50, FP_OF_CALLER, true);
    CHECK_ONE(of_routine_by_register - 2, FP_OF_CALLER, callers_sp);
    find(routine + 50, FP_OF_CALLEE, true);
    CHECK_NONE();
}

// ---- functions

static int no_part_of_it(int number) { return number; }

static void in_functions_without_a_frame(void)
{
    const void *functions[] = {(void *)vm_function, (void *)no_part_of_it};
    for (int i = 0; i < 2; i++) {
        begin_in_caller();
        uintptr_t *callers_sp = sp;
        push(of_vm);
        find(functions[i], FP_OF_CALLER, true);
        CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        // Who has left Java has put down from where.
        find(functions[i], FP_OF_CALLER, false);
        CHECK_NONE();
        push_many(1);
        find(functions[i], FP_OF_CALLER, true);
        CHECK_NONE();
    }
}

static void in_functions_with_frame_pointers(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_vm);
    push(FP_OF_CALLER);
    uintptr_t fp = (uintptr_t)sp;
    for (int depth = 0; depth < 3; depth++) {
        push_many(4);
        find((void *)vm_function, fp, true);
        CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        find((void *)vm_function, fp, false);
        CHECK_NONE();
        push((uintptr_t)vm_function + 1);
        push(fp);
        fp = (uintptr_t)sp;
    }
    // A frame that is its own caller.
    *sp = fp;
    find((void *)vm_function, fp, true);
    CHECK_NONE();
    // Too many to look at while a thread is held up.
    for (unsigned depth = 64; depth <= 65; depth++) {
        begin_in_caller();
        callers_sp = sp;
        push(of_vm);
        push(FP_OF_CALLER);
        for (unsigned i = 1; i < depth; i++) {
            fp = (uintptr_t)sp;
            push((uintptr_t)vm_function + 1);
            push(fp);
        }
        fp = (uintptr_t)sp;
        push_many(1);
        find((void *)vm_function, fp, true);
        if (depth == 64)
            CHECK_ONE(of_vm - 3, FP_OF_CALLER, callers_sp);
        else
            CHECK_NONE();
    }
}

// ---- the interpreter

static void called_by_the_interpreter(void)
{
    callee[200] = 0x55;
    begin_in_caller();
    uintptr_t fp = (uintptr_t)(sp + 10);
    uintptr_t *interpreters_sp = sp;
    memset(sp, 0, 100 * sizeof *sp);
    push(in_interpreter);
    find(callee + 200, fp, true);
    CHECK_ONE(in_interpreter, fp, interpreters_sp);
    // It has always a frame, which does not lie anywhere.
    const uintptr_t no_frames[] = {
        0, FP_OF_CALLER, fp + 1, fp + 4, (uintptr_t)(sp - 1), (uintptr_t)sp + 65536,
    };
    for (unsigned i = 0; i < sizeof no_frames / sizeof *no_frames; i++) {
        find(callee + 200, no_frames[i], true);
        CHECK_NONE();
    }
    // In the middle, what was saved counts.
    push_frame(CALLEE, fp);
    find(callee + 100, FP_OF_CALLEE, true);
    CHECK(found.walkable);
    CHECK_EQUAL(found.count, 1);
    CHECK_PLACE(0, in_interpreter, fp, interpreters_sp);
    sp[CALLEE - 2] = FP_OF_CALLER;
    find(callee + 100, fp, true);
    CHECK_NONE();
}

static void in_the_interpreter(void)
{
    begin_in_caller();
    push(of_callee);
    find((void *)in_interpreter, FP_OF_CALLER, true);
    CHECK_NONE();
}

// ---- where Java was left

static void below_a_routine(void)
{
    begin_in_caller();
    uintptr_t *callers_sp = sp;
    push(of_stub);
    push_frame(STUB, FP_OF_CALLER);
    find_below(stub + 20, FP_OF_CALLEE);
    CHECK_ONE(of_stub - 5, FP_OF_CALLER, callers_sp);
    // By the size of another frame it is not where it should be.
    sp++;
    find_below(stub + 20, FP_OF_CALLEE);
    CHECK_NONE();
    // Of other routines it is not known where they end.
    find_below(routine + 20, FP_OF_CALLEE);
    CHECK_NONE();
    find_below((void *)vm_function, FP_OF_CALLEE);
    CHECK_NONE();
    find_below(NULL, 0);
    CHECK_NONE();
    // Methods are walked from as they are.
    sp = callers_sp;
    find_below(caller + 20, FP_OF_CALLEE);
    CHECK_NONE();
}

// ---- anything

// Where there is something to be found: ends of calls, beginnings of instructions.
#define MOST_KNOWN (2 * COMMITTED)
static uintptr_t known[MOST_KNOWN];
static unsigned known_count;
static uint64_t state = 20240607;

static uintptr_t somewhere(void) { return heap.memory.low + draw(&state) % COMMITTED; }

static void know(const void *pc)
{
    CHECK(known_count < MOST_KNOWN);
    known[known_count++] = (uintptr_t)pc;
}

static unsigned put_something(uint8_t *at)
{
    static const struct {
        const char *bytes;
        uint8_t length;
    } pieces[] = {
        {CODED("\xff\xd0")},
        {CODED("\x41\xff\xd3")},
        {CODED("\xff\x50\x08")},
        {CODED("\xff\x90\0\1\0\0")},
        {CODED("\x55\x48\x83\xec\x20")},
        {CODED("\x5d\xc3")},
        {CODED("\x89\x84\x24")},
        {CODED("\x89\x84\x24\0\0\0\xff")},
        {CODED(POLL)},
        {CODED(NEAR_POLL)},
        {CODED("\x48\x81\xec\0\1\0\0")},
        {CODED("\x0f")},
        {CODED("\x49")},
        {CODED("\x90")},
    };
    const unsigned count = sizeof pieces / sizeof *pieces;
    unsigned which = (unsigned)(draw(&state) % (count + 6));
    know(at);
    uintptr_t end;
    if (which < count)
        end = put(at, pieces[which].bytes, pieces[which].length);
    else if (which < count + 4)
        end = put_call(at, (void *)somewhere());
    else
        end = put_far_call(at, (void *)somewhere());
    know((void *)end);
    return (unsigned)(end - (uintptr_t)at);
}

// All of the heap: blobs of any size, what is known of them as it may be while it changes.
static void make_anything(void)
{
    static const char *const names[] = {METHOD, METHOD, METHOD,         "StubRoutines (1)",
                                        NULL,   "",     (const char *)8};
    static const int32_t sizes[] = {0, 1, 2, 3, 5, 9, 9, 30, -1, INT_MIN, INT_MAX, 70000};
    uint8_t *memory = (uint8_t *)heap.memory.low;
    known_count = 0;
    for (unsigned i = 0; i < COMMITTED - 16;)
        i += put_something(memory + i) + (draw(&state) % 8 == 0);
    // What an end cuts off.
    memcpy(memory + COMMITTED - 3, "\x89\x84\x24", 3);
    know(memory + COMMITTED - 3);
    for (unsigned i = 0; i < SEGMENTS; i++) {
        uint64_t what = draw(&state) % 16;
        map[i] = what == 0 ? FREE : what == 1 ? (uint8_t)draw(&state) : what < 6 ? 0 : 1;
        if (i && map[i] == 1 && map[i - 1] < 200)
            map[i] = (uint8_t)(map[i - 1] + 1);
        if (!map[i])
            put_head(i, names[draw(&state) % (sizeof names / sizeof *names)],
                     sizes[draw(&state) % (sizeof sizes / sizeof *sizes)]);
    }
    // So that the end is a part of something.
    map[SEGMENTS - 1] = 0;
    put_head(SEGMENTS - 1, METHOD, 5);
}

static uintptr_t any_word(void)
{
    uint64_t number = draw(&state);
    switch (draw(&state) % 10) {
    case 0:
    case 1:
        return known[number % known_count];
    case 2:
        return somewhere();
    case 3:
        return heap.memory.high + number % COMMITTED;
    case 4:
        return (uintptr_t)interpreter + number % (8 * SEGMENT);
    case 5:
    case 6:
        return (uintptr_t)(stack + number % WORDS);
    case 7:
        return (uintptr_t)vm_function;
    case 8:
        return number % 64;
    default:
        return number;
    }
}

typedef struct {
    bool in_java, below;
    sonde_places found;
    uint8_t after[64];
} job;

static void find_anything(void *arg)
{
    job *j = arg;
    const greg_t *registers = context.uc_mcontext.gregs;
    if (j->below)
        sonde_find_places_below(&(sonde_place){(uintptr_t)registers[REG_RIP],
                                               (uintptr_t)registers[REG_RBP],
                                               (const uintptr_t *)registers[REG_RSP]},
                                &j->found);
    else
        sonde_find_places(&context, j->in_java, &j->found);
}

static void survives_anything(void)
{
    unsigned faults = 0, walkable = 0, any = 0, most = 0;
    const unsigned room = sizeof((sonde_places *)0)->places / sizeof(sonde_place);
    sonde_guard_install();
    for (unsigned i = 0; i < 200000; i++) {
        if (i % 1000 == 0) {
            make_anything();
            for (unsigned k = 0; k < WORDS; k++)
                stack[k] = any_word();
        }
        // Now and then up to the very end, beyond which nothing can be read.
        unsigned from = (unsigned)(draw(&state) % (i % 8 ? WORDS - ABOVE : WORDS));
        for (unsigned k = from; k < from + 48 && k < WORDS; k++)
            stack[k] = any_word();
        greg_t *registers = context.uc_mcontext.gregs;
        registers[REG_RIP] =
            (greg_t)(draw(&state) % 4 ? known[draw(&state) % known_count] : any_word());
        registers[REG_RSP] = (greg_t)(stack + from);
        registers[REG_RBP] = (greg_t)any_word();
        job j = {.in_java = draw(&state) % 2, .below = draw(&state) % 8 == 0};
        memset(j.after, 0x5a, sizeof j.after);
        bool ended = sonde_guard_run(find_anything, &j);
        CHECK(j.found.count <= room);
        for (unsigned k = 0; k < sizeof j.after; k++)
            CHECK(j.after[k] == 0x5a);
        faults += !ended;
        if (!ended)
            continue;
        walkable += j.found.walkable;
        any += j.found.count && !j.found.walkable;
        most += j.found.count == room;
        CHECK(!j.found.walkable || j.found.count == 1);
        for (unsigned k = 0; k < j.found.count; k++)
            CHECK(j.found.places[k].sp > stack + from && !((uintptr_t)j.found.places[k].sp & 7));
    }
    sonde_guard_remove();
    printf("%u faults, %u walkable, %u with places, %u with all\n", faults, walkable, any, most);
    // All of it has happened.
    CHECK(faults > 100 && walkable > 100 && any > 100 && most > 0);
}

int main(void)
{
    make_heap();
    make_code();
    make_stack();
    sonde_vm_code_prepare();
    RUN(knows_its_blobs);
    RUN(knows_what_is_generated);
    RUN(sees_the_heap_grow);
    RUN(does_without_what_is_not_told);
    RUN(in_the_middle_of_a_method);
    RUN(at_the_edges_of_a_method);
    RUN(not_at_what_resembles_an_edge);
    RUN(pushes_the_frame_pointer_for_other_reasons);
    RUN(before_a_method_has_begun);
    RUN(with_registers_pushed);
    RUN(the_sure_one_first);
    RUN(no_more_than_there_is_room_for);
    RUN(knows_calls_when_it_sees_one);
    RUN(looks_at_nothing_before_the_heap);
    RUN(in_routines);
    RUN(in_a_routine_of_many);
    RUN(in_routines_that_call_routines);
    RUN(in_routines_that_got_something_pushed);
    RUN(an_earlier_call_is_not_taken);
    RUN(of_several_that_lead_nowhere_none_is_taken);
    RUN(in_routines_with_a_frame_pointer);
    RUN(in_routines_without_a_frame);
    RUN(in_functions_without_a_frame);
    RUN(in_functions_with_frame_pointers);
    RUN(called_by_the_interpreter);
    RUN(in_the_interpreter);
    RUN(below_a_routine);
    RUN(survives_anything);
    return 0;
}
