// What dominators and shortest paths say of sizes and holders. The arrays are those of graph.h.
#ifndef SONDE_HEAP_SIZES_H
#define SONDE_HEAP_SIZES_H

#include "heap/graph.h"

// What would be freed with each object: its size and the sizes of all that it dominates. `order`
// has each object after its dominator; `retained` holds 0 for unreachable objects.
void sonde_sizes_retained(uint64_t objects, uint64_t reachable, const uint32_t *order,
                          const uint32_t *dominator, const uint64_t *size, uint64_t *retained);

// What would be freed with all objects of each type: of an object that is dominated by another of
// its type nothing is counted twice. False: not enough memory.
bool sonde_sizes_by_type(uint64_t objects, uint64_t reachable, const uint32_t *order,
                         const uint32_t *dominator, const uint64_t *retained, const uint32_t *type,
                         uint32_t types, uint64_t *of_type);

// The holder of each object: the nearest object on its shortest path that is no container, and the
// label of the reference from it. `order` has the nearest first. Without a holder: SONDE_NO_OBJECT.
void sonde_sizes_holders(uint64_t reachable, const uint32_t *order, const uint32_t *parent,
                         const uint64_t *via, const uint32_t *label, const uint32_t *type,
                         const uint8_t *is_container, uint32_t *holder, uint32_t *holder_label);

// A number for each object's shortest path by types and labels: objects that are reached alike have
// the same. Steps that repeat, as along a linked list, count once, and so do those from container
// to container. `root_number` is by root object.
void sonde_sizes_paths(uint64_t reachable, const uint32_t *order, const uint32_t *parent,
                       const uint64_t *via, const uint32_t *label, const uint32_t *type,
                       const uint8_t *is_container, const uint64_t *root_number, uint64_t *number);

// What would be freed with all objects of a set: of `member` each object has a flag. False: not
// enough memory.
bool sonde_sizes_of_set(uint64_t objects, uint64_t reachable, const uint32_t *order,
                        const uint32_t *dominator, const uint64_t *retained, const uint8_t *member,
                        uint64_t *of_set);

#endif
