#include "core/flow/flow_costs.h"

#include <string.h>

static uint32_t least[SONDE_FLOW_SEQUENCES], seen[SONDE_FLOW_SEQUENCES];

void sonde_flow_costs_reset(void)
{
    memset(sonde_flow.cost, 0, SONDE_FLOW_SEQUENCES * sizeof *sonde_flow.cost);
}

void sonde_flow_costs_watch(void)
{
    memset(least, 0xff, sizeof least);
    memset(seen, 0, sizeof seen);
    sonde_flow.least = least;
    sonde_flow.seen = seen;
}

void sonde_flow_costs_learn(uint32_t runs, double unobserved, uint32_t enough)
{
    sonde_flow.least = sonde_flow.seen = NULL;
    double observed = 0;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++)
        if (seen[i])
            observed += (double)least[i] * seen[i] / runs;
    if (observed <= 0)
        return;
    double share = observed > unobserved ? (observed - unobserved) / observed : 0;
    for (uint32_t i = 0; i < SONDE_FLOW_SEQUENCES; i++) {
        if (seen[i] < enough)
            continue;
        uint32_t cost = (uint32_t)((double)least[i] * share);
        cost = cost ? cost : 1; // 0 is one that is not known
        if (!sonde_flow.cost[i] || cost < sonde_flow.cost[i])
            sonde_flow.cost[i] = cost;
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
