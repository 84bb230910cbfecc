// The memory of the call flow, behind the rings: a header and an arena of nodes.
//
// The agent allocates nodes and counts in them; the recorder reads them whenever it writes, also
// after the process has ended. src/sonde/record/shm/flow_layout.py mirrors these.
#ifndef SONDE_CORE_FLOW_MEMORY_H
#define SONDE_CORE_FLOW_MEMORY_H

#include "core/session/shm.h"

#define SONDE_FLOW_NODES_AT 4096u
#define SONDE_FLOW_WITHIN 512u

enum { // sonde_flow_header.metric
    SONDE_FLOW_CPU = 1,
    SONDE_FLOW_WALL = 2,
    SONDE_FLOW_INSTRUCTIONS = 3, // these and what follows are counts
    SONDE_FLOW_FAULTS = 4,
    SONDE_FLOW_SWITCHES = 5,
};

enum { // sonde_flow_header.flags
    SONDE_FLOW_NATIVE = 1,
    SONDE_FLOW_EVENTS = 2,
};

enum { // sonde_flow_header.state
    SONDE_FLOW_UNASKED = 0,
    SONDE_FLOW_RECORDED = 1,
    SONDE_FLOW_TRACED = 2,  // another tool has what we need
    SONDE_FLOW_NO_TOOL = 3, // every tool id of sys.monitoring is in use
    SONDE_FLOW_FAILED = 4,
};

typedef struct {
    // the recorder's orders
    uint32_t metric, flags, capacity, within_length;
    char within[SONDE_FLOW_WITHIN]; // a module, a function or a span; empty: everything
    uint8_t pad[1024 - 16 - SONDE_FLOW_WITHIN];
    // the agent's
    _Atomic uint32_t state;
    _Atomic uint32_t used; // nodes; the first is never one
    double ns_per_tick;
    uint64_t start_tick, start_ns;
    double residual;           // ticks per event that calibration leaves
    _Atomic uint64_t unlearnt; // events whose cost was not learnt, but that of similar ones
    _Atomic uint64_t lost_calls, lost_events;
    _Atomic uint32_t calibrated;
} sonde_flow_header;

_Static_assert(sizeof(sonde_flow_header) <= SONDE_FLOW_NODES_AT, "nodes begin on the second page");

typedef struct {  // a calling context of a thread
    uint64_t key; // what defines the function: its code or, with the lowest bit, what is in C
    uint64_t id;  // as its record has it; 0: not reported yet
    uint32_t parent, last; // the child that was entered last
    uint64_t calls;
    uint64_t measured, overhead; // of itself
    uint64_t resumptions;
    uint32_t exceptions;  // exits by one
    uint32_t preexisting; // calls that were under way when recording began
} sonde_flow_node;

_Static_assert(sizeof(sonde_flow_node) == 64, "nodes are addressed by the recorder");

typedef struct {
    uint64_t tick_and_kind; // shifted by 4
    uint32_t node, measured;
} sonde_flow_event;

// The events of a thread that are not written yet are behind its root node, which counts them in
// `resumptions`: the recorder reads them if the process ends.
#define SONDE_FLOW_PENDING 64u
#define SONDE_FLOW_ROOT_NODES                                                                      \
    (1 + SONDE_FLOW_PENDING * sizeof(sonde_flow_event) / sizeof(sonde_flow_node))

typedef struct { // `count` 0: the thread's tree begins at `root`
    sonde_rec rec;
    uint32_t root, count;
    sonde_flow_event events[];
} sonde_rec_flow;

#endif
