// The file that the agent writes of CPython's heap, as columns. Nothing of the file is trusted:
// what leads nowhere is left out, and what is no such file is refused.
#ifndef SONDE_HEAP_CPYTHON_HEAP_H
#define SONDE_HEAP_CPYTHON_HEAP_H

#include "core/base/heap_file.h"

#include <stdbool.h>
#include <stddef.h>

struct sonde_cpython_file {
    const uint8_t *bytes;
    uint64_t size;
};

// Records of each kind; of those that differ in length, bytes. False: the file is damaged or cut.
bool sonde_cpython_count(const struct sonde_cpython_file *file, uint64_t counts[HEAP_KINDS]);
// All records of a kind, one after the other.
void sonde_cpython_copy(const struct sonde_cpython_file *file, uint32_t kind, uint8_t *to);

// The number of an object is the rank of its bit: `before` has for each word of the bitmaps how
// many bits come before it.
struct sonde_cpython_map {
    const uint64_t *bits;
    const uint32_t *before;
    uint64_t words;
};
// HEAP_NONE for what is no object.
void sonde_cpython_numbers(const struct sonde_cpython_map *map, const uint32_t *refs,
                           uint64_t count, uint32_t *numbers);

// By number: type, size, reference count and references of each object. `order` gets their numbers
// as they come in the file.
struct sonde_cpython_objects {
    uint32_t *type;
    uint64_t *size;
    uint32_t *count;
    uint32_t *edges;
    uint32_t *order;
};
// False: an object comes twice, or not at all.
bool sonde_cpython_read_objects(const struct sonde_cpython_file *file,
                                const struct sonde_cpython_map *map, uint64_t objects,
                                const struct sonde_cpython_objects *to);

// The references of object o begin at first[o]. `label` gets numbers, and `labels` for each number
// kind << 32 | label; when there is no room for more the rest have no label of their own. `in` gets
// how many references each object has that count.
struct sonde_cpython_edges {
    const uint64_t *first;
    uint32_t *to, *label, *in;
    uint64_t *labels;
    uint32_t max_labels;
};
// How many labels there are; HEAP_NONE: not enough memory.
uint32_t sonde_cpython_read_edges(const struct sonde_cpython_file *file,
                                  const struct sonde_cpython_map *map, const uint32_t *order,
                                  const uint32_t *counts, uint64_t objects,
                                  const struct sonde_cpython_edges *to);

// Texts of values in UTF-8, at most `most` bytes of each; the result is how many bytes they are
// together. `text` NULL: only that, and where each ends.
uint64_t sonde_cpython_texts(const heap_value *values, const uint64_t *where, uint64_t count,
                             const uint8_t *bytes, uint32_t most, uint64_t *end, uint8_t *text);

#endif
