// Acquisitions of locks, of which each thread counts down to the next that is sampled.
#ifndef SONDE_CPYTHON_ACQUISITIONS_H
#define SONDE_CPYTHON_ACQUISITIONS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t *left; // of the thread's slot, see sonde_slot
    uint32_t round; // of the counting that this belongs to
    uint64_t random;
} sonde_acquisitions;

extern _Thread_local sonde_acquisitions sonde_acquisitions_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern uint32_t sonde_acquisitions_round __attribute__((visibility("hidden")));

// Is the next acquisition to be sampled, or is nothing known of this thread? Most are not.
static inline bool sonde_acquisition_is_due(void)
{
    const sonde_acquisitions *mine = &sonde_acquisitions_mine;
    return __builtin_expect(mine->round != sonde_acquisitions_round || *mine->left <= 1, 0);
}

// One that is not sampled was made. Its thread may have waited since it asked, and the counting be
// over: what `left` points at is there for ever.
static inline void sonde_acquisition_count(void) { --*sonde_acquisitions_mine.left; }

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

// Counting begins, with the session. False: there is no memory. The caller has the GIL.
bool sonde_acquisitions_start(void);
// It ends, before the session; or the calling process is a forked child, which has nothing to count
// yet.
void sonde_acquisitions_stop(void);

#endif
