// Dominators by Semi-NCA (Georgiadis, 2005): semidominators as Lengauer and Tarjan compute them,
// then the nearest common ancestor of semidominator and parent. In practice linear.
//
// Everything here works on numbers in the order of a depth-first search: 0 is the root of all
// roots, and a node's number is larger than its dominator's.
#include <stdlib.h>

#include "heap/graph.h"

struct search {
    uint32_t *number; // of an object; 0: not reached
    uint32_t *object; // of a number
    uint32_t *parent; // in the tree of the search, then compressed
    uint32_t *dominator;
    uint32_t *semi;
    uint32_t *label;
    uint32_t *stack;
    uint64_t *incoming_first;
    uint32_t *incoming;
    uint64_t *next; // the next reference of an object on the stack to follow
    uint32_t count; // of nodes, the root of all roots included
};

static void release(struct search *search)
{
    free(search->number);
    free(search->object);
    free(search->parent);
    free(search->dominator);
    free(search->semi);
    free(search->label);
    free(search->stack);
    free(search->incoming_first);
    free(search->incoming);
    free(search->next);
}

static void visit(struct search *search, uint32_t object, uint32_t parent)
{
    search->number[object] = search->count;
    search->object[search->count] = object;
    search->parent[search->count] = parent;
    search->count++;
}

static void depth_first(const struct sonde_graph *graph, struct search *search)
{
    search->count = 1;
    for (uint64_t r = 0; r < graph->root_count; r++) {
        if (search->number[graph->roots[r]])
            continue;
        uint64_t depth = 0;
        visit(search, graph->roots[r], 0);
        search->stack[0] = graph->roots[r];
        search->next[0] = graph->first[graph->roots[r]];
        for (;;) {
            uint32_t from = search->stack[depth];
            if (search->next[depth] == graph->first[from + 1]) {
                if (depth-- == 0)
                    break;
                continue;
            }
            uint32_t to = graph->to[search->next[depth]++];
            if (search->number[to])
                continue;
            visit(search, to, search->number[from]);
            depth++;
            search->stack[depth] = to;
            search->next[depth] = graph->first[to];
        }
    }
}

// Who refers to each number, as numbers; the root of all roots refers to the roots.
static bool turn_round(const struct sonde_graph *graph, struct search *search)
{
    uint64_t *first = calloc((size_t)search->count + 2, sizeof *first);
    if (!first)
        return false;
    search->incoming_first = first;
    for (uint32_t w = 1; w < search->count; w++) {
        uint32_t from = search->object[w];
        for (uint64_t e = graph->first[from]; e < graph->first[from + 1]; e++)
            first[search->number[graph->to[e]] + 2]++;
    }
    for (uint64_t r = 0; r < graph->root_count; r++)
        first[search->number[graph->roots[r]] + 2]++;
    for (uint32_t w = 0; w <= search->count; w++)
        first[w + 1] += first[w];
    uint64_t edges = first[search->count + 1];
    search->incoming = malloc((edges ? edges : 1) * sizeof *search->incoming);
    if (!search->incoming)
        return false;
    for (uint32_t w = 1; w < search->count; w++) {
        uint32_t from = search->object[w];
        for (uint64_t e = graph->first[from]; e < graph->first[from + 1]; e++)
            search->incoming[first[search->number[graph->to[e]] + 1]++] = w;
    }
    for (uint64_t r = 0; r < graph->root_count; r++)
        search->incoming[first[search->number[graph->roots[r]] + 1]++] = 0;
    return true;
}

// The node of least semidominator on the way up from `v` as far as nodes are linked, which are
// those from `linked` on. Shortens the way.
static uint32_t least(struct search *search, uint32_t v, uint32_t linked)
{
    uint32_t *parent = search->parent, *label = search->label, *semi = search->semi;
    if (parent[v] < linked)
        return label[v];
    uint64_t depth = 0;
    do {
        search->stack[depth++] = v;
        v = parent[v];
    } while (parent[v] >= linked);
    uint32_t above = v;
    while (depth) {
        v = search->stack[--depth];
        parent[v] = parent[above];
        if (semi[label[above]] < semi[label[v]])
            label[v] = label[above];
        above = v;
    }
    return label[v];
}

static void dominate(struct search *search)
{
    for (uint32_t w = 0; w < search->count; w++) {
        search->label[w] = search->semi[w] = w;
        search->dominator[w] = search->parent[w];
    }
    for (uint32_t w = search->count; --w > 0;) {
        search->semi[w] = search->parent[w];
        for (uint64_t e = search->incoming_first[w]; e < search->incoming_first[w + 1]; e++) {
            uint32_t semi = search->semi[least(search, search->incoming[e], w + 1)];
            if (semi < search->semi[w])
                search->semi[w] = semi;
        }
    }
    for (uint32_t w = 1; w < search->count; w++)
        while (search->dominator[w] > search->semi[w])
            search->dominator[w] = search->dominator[search->dominator[w]];
}

bool sonde_graph_dominators(const struct sonde_graph *graph, uint32_t *dominator, uint32_t *order,
                            uint64_t *reachable)
{
    size_t nodes = (size_t)graph->objects + 1;
    struct search search = {
        .number = calloc(nodes, sizeof(uint32_t)),
        .object = malloc(nodes * sizeof(uint32_t)),
        .parent = calloc(nodes, sizeof(uint32_t)),
        .stack = malloc(nodes * sizeof(uint32_t)),
        .next = malloc(nodes * sizeof(uint64_t)),
    };
    bool done = false;
    if (!search.number || !search.object || !search.parent || !search.stack || !search.next)
        goto out;
    depth_first(graph, &search);
    free(search.next);
    search.next = NULL;
    if (!turn_round(graph, &search))
        goto out;
    search.dominator = malloc(search.count * sizeof(uint32_t));
    search.semi = malloc(search.count * sizeof(uint32_t));
    search.label = malloc(search.count * sizeof(uint32_t));
    if (!search.dominator || !search.semi || !search.label)
        goto out;
    dominate(&search);
    for (uint64_t o = 0; o < graph->objects; o++)
        dominator[o] = SONDE_UNREACHABLE;
    for (uint32_t w = 1; w < search.count; w++) {
        uint32_t d = search.dominator[w];
        dominator[search.object[w]] = d ? search.object[d] : SONDE_NO_OBJECT;
        order[w - 1] = search.object[w];
    }
    *reachable = search.count - 1;
    done = true;
out:
    release(&search);
    return done;
}
