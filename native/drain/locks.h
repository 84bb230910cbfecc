// Lock events out of rings, for the recorder. A program with much contention has tens of thousands
// of them a second, and the CPU time that the recorder uses for each the program may lack.
//
// Only what is common is done here: a run of events of which all is known, their frames, their
// lock, their thread. The first one that is not stops the run; the recorder (lock_records.py) takes
// that one itself and adds what it has learned. So all that is read from the system, or is rare, is
// in one place, and not here.
#ifndef SONDE_LOCKS_RUN_H
#define SONDE_LOCKS_RUN_H

#include "drain/map.h"
#include "drain/rows.h"

enum { // beside SONDE_IN_MAP, of locks
    SONDE_LOCK_HAS_TYPE = 2,
    SONDE_LOCK_HAS_HOLDER = 4, // its holder was observed, which the recorder keeps
};

// All of these have a mirror in src/sonde/record/shm/lock_drain.py.

typedef struct {         // of a target process
    uint64_t origin;     // times count from there
    uint64_t notable_ns; // longer waits are left to the recorder
    uint64_t spans;      // changes when rows of spans do
    sonde_map frames;    // contexts by caller and frame word
    sonde_map locks;     // rows by address and kind
    sonde_rows *rows;
} sonde_process_tables;

enum { // sonde_open_wait.open
    SONDE_WAIT_NONE = 0,
    SONDE_WAIT_HERE = 1,
    SONDE_WAIT_KEPT = 2, // the recorder keeps it
};

typedef struct { // a wait whose end has not come yet
    uint64_t time, lock, sequence, type;
    int32_t context;
    uint32_t span;
    uint32_t kind;
    uint32_t open;
} sonde_open_wait;

typedef struct {    // of a thread
    int32_t *stack; // contexts of the stack last written, outermost first
    uint32_t depth, room;
    uint32_t unchanged; // outermost ones that no run has changed
    uint32_t interpreter;
    int32_t thread; // its row for that interpreter; -1: not known
    // the last span, by its number, and its row while `spans` is the same
    uint32_t span;
    int32_t span_row;
    uint32_t known; // as many of the stack's contexts records may refer to, see
                    // core/session/stack_delta.h
    uint64_t spans;
    uint64_t task; // which the events are of, as the recorder read it; 0: none
    sonde_open_wait wait;
} sonde_thread_state;

// Takes what it can; returns the new tail.
__attribute__((visibility("default"))) uint64_t sonde_drain_locks(sonde_process_tables *tables,
                                                                  sonde_thread_state *state,
                                                                  const uint8_t *ring,
                                                                  uint64_t ring_size, uint64_t tail,
                                                                  uint64_t head);

#endif
