// What reporting an event takes, by the sequence of three kinds that it ends.
//
// Patterns of calls run unobserved and observed, many times. Of the fastest run of each the
// difference is the cost of its events. It is attributed to the context that runs between the last
// two events; `inside` says how much of an event's cost lies in the function that is entered or
// left. A sequence that comes in several patterns has the smallest
// cost.
#ifndef SONDE_CORE_FLOW_COSTS_H
#define SONDE_CORE_FLOW_COSTS_H

#include "core/flow/flow_tree.h"

// Forgets all costs: events have none.
void sonde_flow_costs_reset(void);
// From here on what is seen is runs of a pattern, of which the fastest counts.
void sonde_flow_costs_begin(void);
void sonde_flow_costs_watch(void);
void sonde_flow_costs_watched(void);
// The pattern takes `unobserved` ticks. Sequences that came fewer than `enough` times in a run are
// not learnt.
void sonde_flow_costs_learn(double unobserved, uint64_t enough);
// In place of that, for functions that take no time of their own, whose runs differ: the smallest
// time of each sequence in the run that is watched.
void sonde_flow_costs_learn_smallest(uint64_t enough);
// Estimates costs of sequences that did not come by those of similar ones.
void sonde_flow_costs_complete(void);

#endif
