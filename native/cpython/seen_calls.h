// Seeing the calls of a window: by sys.monitoring from 3.12 on, by the profiling hook of the
// thread's own state on 3.11. Everything here with the GIL held.
#ifndef SONDE_SEEN_CALLS_H
#define SONDE_SEEN_CALLS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

// Are the calls of other threads seen, too, while a window is open?
#define CALLS_OF_ALL_THREADS (PY_VERSION_HEX >= 0x030C0000)

// Once per session: SONDE_CALLS_COUNTED, or why they cannot be seen.
uint32_t sonde_seen_calls_prepare(void);
void sonde_seen_calls_forget(void);

// From the next call on until `end`; false if it cannot be.
bool sonde_seen_calls_begin(PyThreadState *state);
void sonde_seen_calls_end(PyThreadState *state);
// Is the window of this thread, once begun, still served? May be asked in a signal handler.
bool sonde_seen_calls_go_on(const PyThreadState *state);

typedef struct {
    const PyCodeObject *begins; // its frame is the current one; NULL: C is called,
    PyObject *callable;         // which is this
    uint64_t tsc;               // when we were told
} sonde_seen_call;

// What is told of each call.
void sonde_call_seen(PyThreadState *state, const sonde_seen_call *call);
// And of one that will be told when its function begins.
void sonde_call_passed(const sonde_seen_call *call);

#endif
