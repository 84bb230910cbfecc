// A VM that is made up: its structures, what it exports of them, and its code, which is only read.
#ifndef SONDE_MADE_UP_VM_H
#define SONDE_MADE_UP_VM_H

#include "check.h"

// ---- its structures

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
    int32_t number, stubs; // of methods: which compilation, and where stubs of it begin
} code_blob;

typedef struct {
    const void *class;
    struct {
        const uintptr_t *sp;
        uintptr_t pc, fp;
    } left; // from where the thread had left Java
} java_call;

typedef struct {
    const void *interface;
    uintptr_t buffer;
    int32_t size, limit;
} stub_queue;

extern code_heap heap;

// What it exports of them, as in vmStructs.hpp.
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

extern struct_entry struct_entries[];   // the last one has no name
extern struct_entry *const first_spare; // from here on those without which callers are found still
extern type_entry type_entries[];

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
#define PAGE 4096

extern uint8_t *map;  // of the heap
extern unsigned used; // segments

// Once, before anything else.
void make_vm(void);

// Memory that cannot be read yet.
uint8_t *reserve(uintptr_t wish, size_t length);
// What is known about a blob that begins there.
void put_head(unsigned segment, const char *name, int32_t words);
// They are numbered as they are made, and have so much code of their own.
#define STUBS 100
extern int32_t blobs_made;
// Where Java that the VM calls returns to.
extern uintptr_t entry;
// Its code, which does nothing yet.
uint8_t *make_blob(const char *name, int32_t words, unsigned segments);

// Each returns where it ends: to where a call returns.
uintptr_t put(uint8_t *at, const void *bytes, size_t length);
uintptr_t put_call(uint8_t *at, const void *to);
uintptr_t put_far_call(uint8_t *at, const void *to);

// Instructions, and their length.
#define CODED(bytes) bytes, sizeof(bytes) - 1
// At the end of a method: cmp rsp, [r15 + 0x348]; ja; ret. The same with a smaller offset.
#define POLL "\x49\x3b\xa7\x48\x03\x00\x00\x0f\x87\x10\x00\x00\x00\xc3"
#define NEAR_POLL "\x49\x3b\x67\x28\x0f\x87\x10\x00\x00\x00\xc3"

#define METHOD "nmethod"

// Words of a frame, no two the same: a wrong size leads elsewhere.
enum { OUTER = 5, CALLER = 9, CALLEE = 6, STUB = 7 };

extern uint8_t *interpreter, *outer, *caller, *callee, *routine, *second, *third, *fourth, *stub;
// Calls in methods, each by where it returns to.
extern uintptr_t in_outer, of_callee, of_callee_by_register, of_routine, of_routine_far,
    of_routine_by_register, of_vm, of_stub;
extern uintptr_t in_interpreter;

#endif
