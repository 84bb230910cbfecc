// What the agent writes of CPython's heap and native/heap reads: blocks of records, each block of
// one kind. A block is {uint32_t kind, uint32_t bytes} and its records.
//
// An object is a 32-bit reference: the number of a region in the upper half, and in the lower one
// its place there in steps of 8 bytes. The bitmaps at the end say which references are objects.
#ifndef SONDE_CORE_HEAP_FILE_H
#define SONDE_CORE_HEAP_FILE_H

#include <stdint.h>

#define HEAP_REGION_SHIFT 19
#define HEAP_REGION_WORDS 1024 // of a region's bitmap

#define SONDE_HEAP_MAGIC 0x3150414548454e53u // "SNEHEAP1"

typedef enum {
    HEAP_HEAD = 1,   // one heap_head
    HEAP_OBJECTS,    // heap_object
    HEAP_EDGES,      // heap_edge: those of the first object, of the second, ...
    HEAP_VALUES,     // heap_value
    HEAP_TEXTS,      // the bytes of values, in their order
    HEAP_TYPES,      // uint32_t reference, uint16_t length, name
    HEAP_NAMES,      // uint16_t length, text: fixed names, numbered from 0
    HEAP_CONTAINERS, // heap_container
    HEAP_LARGE,      // heap_large: sizes that a heap_object has no room for
    HEAP_ROOTS,      // heap_root
    HEAP_FRAMES,     // heap_frame
    HEAP_REGIONS,    // uint64_t number of each region
    HEAP_BITS,       // of each region, which addresses have an object
    HEAP_TOTALS,     // one heap_totals, the last block of a complete file
    HEAP_KINDS,
} heap_kind;

#define HEAP_NONE UINT32_MAX // no reference; the type of a running frame; an immortal's count

typedef struct {
    uint64_t magic;
    uint32_t python, reserved;
} heap_head;

typedef struct {
    uint32_t object, type, size, count, edges;
} heap_object;

// What an edge is called.
typedef enum {
    EDGE_PLAIN,     // nothing
    EDGE_INDEX,     // by its place
    EDGE_IS_KEY,    // a dictionary's key; the value's edge follows
    EDGE_KEY,       // a dictionary's value; label: the key, if it is an identifier of the source
    EDGE_ATTRIBUTE, // label: the name, a string
    EDGE_FIXED,     // an attribute; label: the number of its name in HEAP_NAMES
    EDGE_LOCAL,     // a local variable; label: its name, a string
    EDGE_CLOSURE,   // a variable of an enclosing function; label: its name, a string
} heap_edge_kind;
#define EDGE_UNCOUNTED 0x100u // it has no part in the reference count of its target

typedef struct {
    uint32_t target, label, kind;
} heap_edge;

// form: 1, 2, 4 a string of characters of so many bytes; or one of these.
enum { VALUE_BYTES = 8, VALUE_INT, VALUE_FLOAT };
typedef struct {
    uint32_t object, length;
    uint32_t digest[2]; // of the whole value; the value itself if it is a number
    uint16_t text_bytes, form;
} heap_value;

typedef struct {
    uint32_t object, room, used;
} heap_container;

typedef struct {
    uint32_t object, reserved;
    uint64_t size;
} heap_large;

typedef enum { ROOT_MODULE = 1, ROOT_FRAME, ROOT_INTERPRETER } heap_root_kind;
typedef struct {
    uint32_t object, kind;
    uint32_t
        name; // of a module: a string; of a frame: the thread; of the interpreter: in HEAP_NAMES
} heap_root;

typedef struct {
    uint32_t frame, code, thread;
} heap_frame;

typedef struct {
    uint64_t objects, edges, left_out, interpreters_left_out;
} heap_totals;

#endif
