// The heap dump records of an hprof file (HPROF 1.0.1 and 1.0.2, as HotSpot and OpenJ9 write them).
//
// A file is what somebody gave us: every length in it is checked against the end of its segment.
#ifndef SONDE_HEAP_HPROF_H
#define SONDE_HEAP_HPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde_hprof_kind {
    SONDE_HPROF_INSTANCE,
    SONDE_HPROF_OBJECTS, // an array of references
    SONDE_HPROF_VALUES,  // an array of primitive values
    SONDE_HPROF_CLASS,
};

// The part of a file that is one record of heap dump, without its header.
struct sonde_hprof_segment {
    uint64_t begin, end;
};

struct sonde_hprof_counts {
    uint64_t objects;
    uint64_t roots;
    uint64_t elements; // of arrays of references, together
    uint64_t error_at; // where in the file
    const char *error; // NULL: none
};

// By object, in the order of the file. `where` is the place of an instance's fields, of an array's
// elements, and of what follows the id of a class; `length` counts the bytes of an instance and the
// elements of an array.
// `class_id` of an array of values is its element type.
struct sonde_hprof_objects {
    uint64_t *id;
    uint64_t *class_id;
    uint64_t *where;
    uint32_t *length;
    uint8_t *kind;
};

// `thread` is a serial number and `frame` its frame, or UINT32_MAX.
struct sonde_hprof_roots {
    uint64_t *id;
    uint8_t *kind; // the tag of the record
    uint32_t *thread;
    uint32_t *frame;
};

void sonde_hprof_count(const uint8_t *file, const struct sonde_hprof_segment *segments,
                       uint64_t segment_count, uint32_t id_size, struct sonde_hprof_counts *counts);

// Of a file that was counted; the arrays have room for what it found.
void sonde_hprof_read(const uint8_t *file, const struct sonde_hprof_segment *segments,
                      uint64_t segment_count, uint32_t id_size,
                      const struct sonde_hprof_objects *objects,
                      const struct sonde_hprof_roots *roots);

// Objects sorted by id, and what finds an id in them: index[b] is the first object whose id is
// base + (b << shift) or more.
struct sonde_hprof_ids {
    const uint64_t *id;
    uint64_t count;
    const uint32_t *index;
    uint64_t buckets; // index has one more
    uint64_t base;
    uint32_t shift;
};

// The object with this id; UINT32_MAX: none.
uint32_t sonde_hprof_find(const struct sonde_hprof_ids *ids, uint64_t id);

// Of each class (by number) the references that its instances have: their places in the fields.
struct sonde_hprof_fields {
    const uint32_t *first;
    const uint32_t *offset;
    const uint32_t *label;
};

// The references of instances and arrays, into first (one more than objects), to and label, which
// have room for all. `class_of` is the number of each object's class. References to what the file
// has no object for are left out. The result is their number.
uint64_t sonde_hprof_references(const uint8_t *file, uint32_t id_size,
                                const struct sonde_hprof_ids *ids, const uint64_t *where,
                                const uint32_t *length, const uint8_t *kind,
                                const uint32_t *class_of, const struct sonde_hprof_fields *fields,
                                uint32_t element_label, uint64_t *first, uint32_t *to,
                                uint32_t *label);

// A number for the bytes of each: equal bytes have equal numbers, others differ but for one in
// 2^64.
void sonde_hprof_digest(const uint8_t *file, const uint64_t *where, const uint64_t *bytes,
                        uint64_t count, uint64_t *digest);

#endif
