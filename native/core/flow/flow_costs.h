// What reporting an event takes, by the sequence of three kinds that it ends.
//
// Patterns of calls run unobserved and observed. The smallest time of each sequence, without the
// share that the pattern itself takes, is the cost. It is attributed to the context that runs
// between the last two events.
#ifndef SONDE_CORE_FLOW_COSTS_H
#define SONDE_CORE_FLOW_COSTS_H

#include "core/flow/flow_tree.h"

// Forgets all costs: events have none.
void sonde_flow_costs_reset(void);
// From here on what is seen is one run of a pattern.
void sonde_flow_costs_watch(void);
// The pattern was observed `runs` times, and takes `unobserved` ticks. Sequences that came fewer
// than `enough` times are not learnt.
void sonde_flow_costs_learn(uint32_t runs, double unobserved, uint32_t enough);
// Estimates costs of sequences that did not come by those of similar ones.
void sonde_flow_costs_complete(void);

#endif
