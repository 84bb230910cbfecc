// What follows the rings in the shared memory of a session with probes or step traces: the
// recorder's orders, the counts of each probe, and the room for one step trace.
//
// src/sonde/record/shm/probe_area.py mirrors it.
#ifndef SONDE_CORE_PROBE_AREA_H
#define SONDE_CORE_PROBE_AREA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_MAX_PROBES 16u
#define SONDE_PROBE_TEXT 384u
#define SONDE_PROBE_VALUE_TEXT 64u

enum { // why a value could not be read, places in sonde_probe.failures
    SONDE_PROBE_UNBOUND = 0,
    SONDE_PROBE_NO_ATTRIBUTE = 1,
    SONDE_PROBE_GETTER = 2, // reading the attribute would run code
    SONDE_PROBE_NO_ITEM = 3,
    SONDE_PROBE_NO_CONTAINER = 4, // it has no items or no length that can be read without code
    SONDE_PROBE_TOO_LARGE = 5,    // a dictionary that would have to be searched
    SONDE_PROBE_FAILURES = 8,
};

enum { // sonde_probe.trouble
    SONDE_PROBE_FINE = 0,
    SONDE_PROBE_UNSUPPORTED = 1, // by this runtime
    SONDE_PROBE_INVALID = 2,     // what is to be read was not understood
    SONDE_PROBE_NO_TOOL = 3,     // every tool id of sys.monitoring is in use
    SONDE_PROBE_TOO_MANY = 4,    // more code objects than can be watched have the line
    SONDE_PROBE_REFUSED = 5,     // the JVM refused the changed class
};

// Written by the recorder but for what is atomic. The text is that of the file, then the steps by
// which the value is read, each one byte of what it does, one of a length, and so many bytes.
typedef struct {
    _Atomic uint32_t serial; // 0: there is no probe; another one: another probe
    uint32_t line, every;
    uint16_t file_length, steps_length;
    _Atomic uint64_t hits, sampled, lost;
    _Atomic uint64_t failures[SONDE_PROBE_FAILURES];
    _Atomic uint32_t places; // pieces of code that are watched now
    _Atomic uint32_t trouble;
    uint64_t pad[2];
    uint8_t text[SONDE_PROBE_TEXT];
} sonde_probe;
_Static_assert(sizeof(sonde_probe) == 512, "probes are addressed by the recorder");

enum {                     // what a step does
    SONDE_STEP_NAME = 'n', // a variable
    SONDE_STEP_ATTRIBUTE = 'a',
    SONDE_STEP_INDEX = 'i',  // an item, by a whole number in decimal
    SONDE_STEP_KEY = 'k',    // an item, by a string
    SONDE_STEP_LENGTH = 'l', // only at the end
};

enum { // sonde_rec_probe.rec.state, as in the recording
    SONDE_VALUE_OTHER = 0,
    SONDE_VALUE_INTEGER = 1,
    SONDE_VALUE_FLOAT = 2,
    SONDE_VALUE_BOOLEAN = 3,
    SONDE_VALUE_NONE = 4,
    SONDE_VALUE_TEXT = 5,
};

enum { // sonde_steps.state
    SONDE_STEPS_IDLE = 0,
    SONDE_STEPS_WANTED = 1, // by the recorder
    SONDE_STEPS_RUNNING = 2,
    SONDE_STEPS_FULL = 3, // it ended where the room did
    SONDE_STEPS_ENDED = 4,
    SONDE_STEPS_REFUSED = 5, // by `trouble`
};

enum { // sonde_steps.what
    SONDE_STEPS_INSTRUCTIONS = 0,
    SONDE_STEPS_BRANCHES = 1,
};

typedef struct {
    _Atomic uint32_t state;
    _Atomic uint32_t trouble; // as sonde_probe.trouble
    uint32_t what;
    uint32_t span_length; // 0: all threads, for `duration_ns`
    uint64_t duration_ns;
    uint64_t room;         // bytes after this structure
    _Atomic uint64_t used; // of it, in chunks
    _Atomic uint64_t began_ns, ended_ns;
    _Atomic uint64_t spans; // that were traced
    uint8_t span[192];
} sonde_steps;

// The room is given to threads in chunks; each begins so, and has words of 16 bits.
typedef struct {
    uint32_t tid;
    _Atomic uint32_t used; // bytes of `words`
    uint64_t number;       // of the thread's chunks, from 0
    uint16_t words[];
} sonde_steps_chunk;
#define SONDE_STEPS_CHUNK 65536u

typedef struct {
    _Atomic uint32_t orders;  // counts changes by the recorder, a futex
    _Atomic uint32_t applied; // of them by the agent
    uint8_t pad[56];
    sonde_probe probes[SONDE_MAX_PROBES];
    uint8_t pad1[4096 - 64];
    sonde_steps steps;
} sonde_probe_area;
_Static_assert(offsetof(sonde_probe_area, steps) == 12288, "it is addressed by the recorder");

#endif
