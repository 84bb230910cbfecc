#include "heap/graph.h"

bool sonde_graph_is_valid(const struct sonde_graph *graph, uint64_t edges)
{
    if (graph->objects > SONDE_MAX_OBJECTS || graph->first[0] != 0 ||
        graph->first[graph->objects] != edges)
        return false;
    for (uint64_t o = 0; o < graph->objects; o++)
        if (graph->first[o] > graph->first[o + 1])
            return false;
    for (uint64_t e = 0; e < edges; e++)
        if (graph->to[e] >= graph->objects)
            return false;
    for (uint64_t r = 0; r < graph->root_count; r++)
        if (graph->roots[r] >= graph->objects)
            return false;
    return true;
}

uint64_t sonde_graph_shortest(const struct sonde_graph *graph, uint32_t *parent, uint64_t *via,
                              uint32_t *order)
{
    uint64_t found = 0;
    for (uint64_t o = 0; o < graph->objects; o++) {
        parent[o] = SONDE_UNREACHABLE;
        via[o] = UINT64_MAX;
    }
    for (uint64_t r = 0; r < graph->root_count; r++) {
        uint32_t root = graph->roots[r];
        if (parent[root] == SONDE_UNREACHABLE) {
            parent[root] = SONDE_NO_OBJECT;
            order[found++] = root;
        }
    }
    for (uint64_t next = 0; next < found; next++) {
        uint32_t from = order[next];
        for (uint64_t e = graph->first[from]; e < graph->first[from + 1]; e++) {
            uint32_t to = graph->to[e];
            if (parent[to] != SONDE_UNREACHABLE)
                continue;
            parent[to] = from;
            via[to] = e;
            order[found++] = to;
        }
    }
    return found;
}

void sonde_graph_referrers(const struct sonde_graph *graph, uint64_t *begin, uint32_t *from)
{
    uint64_t edges = graph->first[graph->objects];
    for (uint64_t o = 0; o <= graph->objects; o++)
        begin[o] = 0;
    // First how many there are before each object, then, as each is placed, where the next goes.
    for (uint64_t e = 0; e < edges; e++)
        begin[graph->to[e] + 1]++;
    for (uint64_t o = 0; o < graph->objects; o++)
        begin[o + 1] += begin[o];
    for (uint64_t o = 0; o < graph->objects; o++)
        for (uint64_t e = graph->first[o]; e < graph->first[o + 1]; e++)
            from[begin[graph->to[e]]++] = (uint32_t)o;
    // What was moved to the end of each is where the next one begins.
    for (uint64_t o = graph->objects; o > 0; o--)
        begin[o] = begin[o - 1];
    begin[0] = 0;
}
