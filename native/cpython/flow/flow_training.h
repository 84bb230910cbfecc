// Learns what reporting an event takes: functions of ours run unobserved and observed.
#ifndef SONDE_CPYTHON_FLOW_TRAINING_H
#define SONDE_CPYTHON_FLOW_TRAINING_H

#include "core/flow/flow_tree.h"
#include "cpython/frames/frames.h"

// Whose events are recorded meanwhile; NULL: this is no training.
extern PyThreadState *sonde_flow_trainee;

// Costs are in `sonde_flow` afterwards. False: they could not be learnt, and are 0. With the GIL,
// and a source that is prepared and off. `residual`: ticks per event that are left.
bool sonde_flow_train(PyThreadState *state, const sonde_flow_header *orders, double *residual);

#endif
