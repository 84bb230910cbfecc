#include "core/flow/flow_costs.h"

#include <string.h>

typedef struct {
    uint64_t took[SONDE_FLOW_SEQUENCES], seen[SONDE_FLOW_SEQUENCES];
    uint64_t least[SONDE_FLOW_SEQUENCES];
    uint64_t total; // 0: no run
} run_t;

static run_t now, best;

// No function takes nothing.
#define MAX_SHARE 0.9

void sonde_flow_costs_reset(void)
{
    memset(sonde_flow.cost, 0, SONDE_FLOW_SEQUENCES * sizeof *sonde_flow.cost);
}

void sonde_flow_costs_begin(void) { best.total = 0; }

void sonde_flow_costs_watch(void)
{
    memset(&now, 0, sizeof now);
    memset(now.least, 0xff, sizeof now.least);
    sonde_flow.least = now.least;
    sonde_flow.took = now.took;
    sonde_flow.seen = now.seen;
}

void sonde_flow_costs_watched(void)
{
    sonde_flow.took = sonde_flow.seen = NULL;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++)
        now.total += now.took[i];
    if (now.total && (!best.total || now.total < best.total))
        best = now;
}

// Which end of an interval lies in the function that is entered or left, and which in its caller.
static const enum {
    OTHER,
    ENTRY,
    EXIT
} ends[SONDE_FLOW_KINDS] = {[SONDE_FLOW_START] = ENTRY,    [SONDE_FLOW_RESUME] = ENTRY,
                            [SONDE_FLOW_THROW] = ENTRY,    [SONDE_FLOW_RETURN] = EXIT,
                            [SONDE_FLOW_YIELD] = EXIT,     [SONDE_FLOW_RETURN_FAR] = EXIT,
                            [SONDE_FLOW_YIELD_FAR] = EXIT, [SONDE_FLOW_UNWIND] = EXIT};

// How much of an event's cost an interval has, on average 1.
static double weight_of(uint32_t sequence)
{
    double inside = sonde_flow.inside, outside = 1 - inside, weight = 0;
    uint32_t before = sequence >> 4 & 0xf, after = sequence & 0xf;
    weight += ends[before] == ENTRY ? inside : ends[before] == EXIT ? outside : 0.5;
    weight += ends[after] == ENTRY ? outside : ends[after] == EXIT ? inside : 0.5;
    return weight;
}

// What all events of the fastest run would take at that cost each, if none takes more than there
// is.
static double at_cost(double each)
{
    double sum = 0;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        double most = MAX_SHARE * (double)best.took[i],
               wanted = each * weight_of(i) * (double)best.seen[i];
        sum += wanted < most ? wanted : most;
    }
    return sum;
}

void sonde_flow_costs_learn(double unobserved, uint64_t enough)
{
    double cost = (double)best.total - unobserved, low = 0, high = (double)best.total;
    if (!best.total || cost <= 0)
        return;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (at_cost(middle) < cost)
            low = middle;
        else
            high = middle;
    }
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        if (best.seen[i] < enough)
            continue;
        double most = MAX_SHARE * (double)best.took[i] / (double)best.seen[i];
        double cost_of_it = high * weight_of(i);
        uint32_t learnt = (uint32_t)((cost_of_it < most ? cost_of_it : most) + 0.5);
        learnt = learnt ? learnt : 1; // 0 is one that is not known
        if (!sonde_flow.cost[i] || learnt < sonde_flow.cost[i])
            sonde_flow.cost[i] = learnt;
    }
}

void sonde_flow_costs_learn_smallest(uint64_t enough)
{
    sonde_flow.took = sonde_flow.seen = NULL;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        if (now.seen[i] < enough)
            continue;
        uint32_t learnt = now.least[i] ? (uint32_t)now.least[i] : 1; // 0 is one that is not known
        if (!sonde_flow.cost[i] || learnt < sonde_flow.cost[i])
            sonde_flow.cost[i] = learnt;
    }
}

// The smallest cost of the sequences that agree with this one in the last kinds; 0: there is none.
static uint32_t of_similar(uint32_t sequence, uint32_t agree)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        uint32_t cost = sonde_flow.cost[i];
        if (!cost || cost & SONDE_FLOW_ESTIMATED || (i & agree) != (sequence & agree))
            continue;
        if (!best || cost < best)
            best = cost;
    }
    return best;
}

void sonde_flow_costs_complete(void)
{
    static const uint32_t last_two = 0xff, last = 0xf, before_last = 0xf0;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        if (sonde_flow.cost[i])
            continue;
        uint32_t cost = of_similar(i, last_two);
        cost = cost ? cost : of_similar(i, last);
        cost = cost ? cost : of_similar(i, before_last);
        sonde_flow.cost[i] = cost | SONDE_FLOW_ESTIMATED;
    }
}
