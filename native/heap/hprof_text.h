// What is in the strings and arrays of an hprof file, as a snapshot file keeps it.
#ifndef SONDE_HEAP_HPROF_TEXT_H
#define SONDE_HEAP_HPROF_TEXT_H

#include "heap/hprof.h"

// Where java.lang.String has its array, and from JDK 9 on its coder (UINT32_MAX: it has none).
struct sonde_hprof_string {
    uint32_t value;
    uint32_t coder;
};

// The texts of `strings` (objects, by number) in UTF-8, one behind the other: that of strings[i]
// ends at end[i]. Each has at most `max_bytes`; one that is cut ends with an ellipsis. `text` has
// room for count * max_bytes, or is NULL if only `end` is wanted. The result is the last end.
uint64_t sonde_hprof_texts(const uint8_t *file, uint32_t id_size, const struct sonde_hprof_ids *ids,
                           const struct sonde_hprof_objects *objects, const uint32_t *strings,
                           uint64_t count, const struct sonde_hprof_string *layout,
                           uint32_t max_bytes, uint64_t *end, uint8_t *text);

// Of each reference that an array of references has, in the order of sonde_hprof_references, its
// place in the array.
void sonde_hprof_positions(const uint8_t *file, uint32_t id_size, const struct sonde_hprof_ids *ids,
                           const uint64_t *where, const uint32_t *length, const uint8_t *kind,
                           uint32_t *position);

#endif
