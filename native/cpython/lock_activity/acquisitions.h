// Samples acquisitions of Python's locks.
#ifndef SONDE_CPYTHON_ACQUISITIONS_H
#define SONDE_CPYTHON_ACQUISITIONS_H

#include "core/hooks/acquisition_counts.h"

#include <Python.h>

// What is known of an acquisition before it is tried.
typedef struct {
    uint64_t began;
    bool reentrant, contended, recursive;
} sonde_attempt;

// Of one that is due: is it sampled? If not, it is counted as any other.
bool sonde_attempt_begin(sonde_attempt *attempt, PyObject *lock, bool reentrant);
// It was made. `followed`: the end of the hold will be reported.
void sonde_attempt_succeeded(const sonde_attempt *attempt, PyObject *lock, bool followed);

// The lock is about to be released. `ends`: that ends the hold.
void sonde_lock_releases(PyObject *lock, bool reentrant);

// Sampling begins, with the session. False: there is no memory. The caller has the GIL.
bool sonde_lock_samples_start(void);
// It ends, before the session; or the calling process is a forked child, which has nothing to count
// yet.
void sonde_lock_samples_stop(void);

#endif
