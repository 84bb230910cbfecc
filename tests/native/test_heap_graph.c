// Dominators and sizes of a heap: known graphs, and drawn ones held against their definition.
#include "check.h"
#include "heap/graph.h"
#include "heap/sizes.h"

#include <string.h>

#define MAX 24u

typedef struct {
    uint64_t first[MAX + 1];
    uint32_t to[MAX * 4], roots[4];
    struct sonde_graph graph;
} heap;

static void draw_heap(heap *h, uint64_t *state)
{
    uint32_t count = 1 + (uint32_t)(draw(state) % MAX);
    uint64_t edges = 0;
    for (uint32_t o = 0; o < count; o++) {
        h->first[o] = edges;
        for (uint64_t left = draw(state) % 4; left; left--)
            h->to[edges++] = (uint32_t)(draw(state) % count);
    }
    h->first[count] = edges;
    uint64_t roots = draw(state) % 4;
    for (uint64_t r = 0; r < roots; r++)
        h->roots[r] = (uint32_t)(draw(state) % count);
    h->graph = (struct sonde_graph){count, h->first, h->to, h->roots, roots};
    CHECK(sonde_graph_is_valid(&h->graph, edges));
}

// Marks what a root leads to without going over one object.
static void reach(const heap *h, uint32_t without, bool *reached)
{
    memset(reached, 0, MAX);
    for (uint64_t r = 0; r < h->graph.root_count; r++)
        if (h->roots[r] != without)
            reached[h->roots[r]] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t o = 0; o < h->graph.objects; o++) {
            for (uint64_t e = h->first[o]; reached[o] && e < h->first[o + 1]; e++) {
                if (h->to[e] != without && !reached[h->to[e]])
                    more = reached[h->to[e]] = true;
            }
        }
    }
}

static void referrers(void)
{
    uint64_t state = 11;
    for (int round = 0; round < 500; round++) {
        heap h;
        draw_heap(&h, &state);
        uint64_t begin[MAX + 1], edges = h.first[h.graph.objects];
        uint32_t from[MAX * 4];
        sonde_graph_referrers(&h.graph, begin, from);
        CHECK(begin[0] == 0 && begin[h.graph.objects] == edges);
        for (uint32_t to = 0; to < h.graph.objects; to++) {
            uint64_t place = begin[to];
            for (uint32_t o = 0; o < h.graph.objects; o++)
                for (uint64_t e = h.first[o]; e < h.first[o + 1]; e++)
                    if (h.to[e] == to)
                        CHECK_EQUAL(from[place++], o);
            CHECK_EQUAL(place, begin[to + 1]);
        }
    }
}

static void drawn_heaps(void)
{
    uint64_t state = 7;
    for (int round = 0; round < 3000; round++) {
        heap h;
        draw_heap(&h, &state);
        uint32_t count = (uint32_t)h.graph.objects, dominator[MAX], order[MAX];
        uint64_t reachable, size[MAX], retained[MAX];
        CHECK(sonde_graph_dominators(&h.graph, dominator, order, &reachable));
        for (uint32_t o = 0; o < count; o++)
            size[o] = o + 1;
        sonde_sizes_retained(count, reachable, order, dominator, size, retained);
        bool all[MAX], without[MAX];
        reach(&h, UINT32_MAX, all);
        uint64_t alive = 0;
        for (uint32_t o = 0; o < count; o++) {
            alive += all[o];
            CHECK_EQUAL(dominator[o] == SONDE_UNREACHABLE, !all[o]);
            reach(&h, o, without);
            uint64_t gone = 0;
            for (uint32_t other = 0; other < count; other++)
                gone += all[other] && !without[other] ? size[other] : 0;
            CHECK_EQUAL(retained[o], all[o] ? gone : 0);
        }
        CHECK_EQUAL(reachable, alive);
        uint32_t parent[MAX], near[MAX];
        uint64_t via[MAX];
        CHECK_EQUAL(sonde_graph_shortest(&h.graph, parent, via, near), alive);
        for (uint32_t o = 0; o < count; o++)
            if (parent[o] < count)
                CHECK(h.to[via[o]] == o && via[o] >= h.first[parent[o]] &&
                      via[o] < h.first[parent[o] + 1]);
    }
}

static void types_and_sets(void)
{
    // 0 -> 1 -> 2, 0 -> 3: 0 and 2 are of one type.
    uint64_t first[] = {0, 2, 3, 3, 3}, retained[4], of_type[2], of_set, reachable;
    uint32_t to[] = {1, 3, 2}, roots[] = {0}, dominator[4], order[4], type[] = {0, 1, 0, 1};
    uint64_t size[] = {1, 10, 100, 1000};
    struct sonde_graph graph = {4, first, to, roots, 1};
    CHECK(sonde_graph_dominators(&graph, dominator, order, &reachable));
    sonde_sizes_retained(4, reachable, order, dominator, size, retained);
    CHECK(sonde_sizes_by_type(4, reachable, order, dominator, retained, type, 2, of_type));
    CHECK_EQUAL(of_type[0], 1111);
    CHECK_EQUAL(of_type[1], 1110);
    uint8_t member[] = {0, 1, 1, 0};
    CHECK(sonde_sizes_of_set(4, reachable, order, dominator, retained, member, &of_set));
    CHECK_EQUAL(of_set, 110);
}

static void wrong_graphs(void)
{
    uint64_t first[] = {0, 1, 2}, falling[] = {0, 2, 1};
    uint32_t to[] = {1, 0}, beyond[] = {1, 2}, roots[] = {1}, no_object[] = {2};
    struct sonde_graph graph = {2, first, to, roots, 1};
    CHECK(sonde_graph_is_valid(&graph, 2));
    CHECK(!sonde_graph_is_valid(&graph, 3));
    graph.to = beyond;
    CHECK(!sonde_graph_is_valid(&graph, 2));
    graph.to = to;
    graph.first = falling;
    CHECK(!sonde_graph_is_valid(&graph, 2));
    graph.first = first;
    graph.roots = no_object;
    CHECK(!sonde_graph_is_valid(&graph, 2));
}

int main(void)
{
    RUN(referrers);
    RUN(drawn_heaps);
    RUN(types_and_sets);
    RUN(wrong_graphs);
    return 0;
}
