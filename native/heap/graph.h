// A heap as a graph: objects are numbers below `objects`, and the references of object o are
// to[first[o]] to to[first[o + 1] - 1]. Who calls has checked that each lies in range
// (sonde_graph_is_valid). All results go into arrays of the caller, with a place for each object.
#ifndef SONDE_HEAP_GRAPH_H
#define SONDE_HEAP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_graph {
    uint64_t objects;
    const uint64_t *first;
    const uint32_t *to;
    const uint32_t *roots;
    uint64_t root_count;
};

// As a parent or dominator: the object is a root, or dominated by no object.
#define SONDE_NO_OBJECT UINT32_MAX
// As a parent or dominator: no root leads to the object.
#define SONDE_UNREACHABLE (UINT32_MAX - 1)
// Objects a graph may have: the numbers above mean something else.
#define SONDE_MAX_OBJECTS (UINT32_MAX - 2)

// Whether all references and roots are of objects; `edges` is the length of `to`.
bool sonde_graph_is_valid(const struct sonde_graph *graph, uint64_t edges);

// Shortest paths: `parent` and `via`, the place in `to` of the reference from it. `order` gets the
// reachable objects, nearest first; the result is how many they are.
uint64_t sonde_graph_shortest(const struct sonde_graph *graph, uint32_t *parent, uint64_t *via,
                              uint32_t *order);

// The references the other way round: those to object o come from from[begin[o]] to
// from[begin[o + 1] - 1]. `begin` has a place more than objects, `from` one for each reference.
void sonde_graph_referrers(const struct sonde_graph *graph, uint64_t *begin, uint32_t *from);

// Immediate dominators: every path from a root to an object passes its dominator. `order` gets the
// reachable objects, each after its dominator. False: not enough memory.
bool sonde_graph_dominators(const struct sonde_graph *graph, uint32_t *dominator, uint32_t *order,
                            uint64_t *reachable);

#endif
