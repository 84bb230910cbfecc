// When a thread's next allocation is sampled: after so many bytes, drawn from an exponential
// distribution. So an allocation of n bytes is sampled with probability 1 - exp(-n / mean),
// whatever was before it.
#ifndef SONDE_CPYTHON_COUNTDOWN_H
#define SONDE_CPYTHON_COUNTDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {               // countdowns of a thread
    SONDE_SMALL = 0, // blocks that the interpreter takes from its own pools
    SONDE_LARGE = 1, // all others
    SONDE_COUNTDOWNS = 2,
};

typedef struct {
    int64_t left[SONDE_COUNTDOWNS];
    int64_t kept[SONDE_COUNTDOWNS]; // of `left`, while `early`
    uint64_t random;                // 0: the thread has not begun
    const void *pending;            // the last sampled block: what is in it is looked up next
    bool early;                     // at the next allocation, whether or not that is sampled
} sonde_countdown;

extern _Thread_local sonde_countdown sonde_countdown_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Most allocations: false, and nothing else happens. If true, sonde_countdown_ended decides.
static inline bool sonde_counts(int which, size_t size)
{
    return __builtin_expect((sonde_countdown_mine.left[which] -= (int64_t)size) < 0, 0);
}

// The calling thread draws again: in a forked child, which has its parent's countdowns.
void sonde_countdown_forked(void);

// Bytes between two samples, on average.
void sonde_countdown_set_mean(int which, double mean);
double sonde_countdown_mean(int which);

// Has an allocation be looked at next.
void sonde_countdown_look_early(const void *pending);

// Of an allocation for which sonde_counts() was true: is it sampled? If the last sampled block is
// to be looked at now, `pending` is that.
bool sonde_countdown_ended(int which, size_t size, const void **pending);

#endif
