// Acquisitions of locks, of which each thread counts down to the next that is sampled.
#ifndef SONDE_CORE_ACQUISITION_COUNTS_H
#define SONDE_CORE_ACQUISITION_COUNTS_H

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

// Of one that is due: is it sampled? If not, it is counted as any other.
bool sonde_acquisition_is_sampled(void);
// It was made. How many the thread made since its last sample that was written, with this one; 0:
// the counting ended while it waited.
uint64_t sonde_acquisition_take(void);
// What that number is now: 0 once it is written.
void sonde_acquisition_keep(uint64_t counted);

// One of so many is sampled.
uint32_t sonde_acquisitions_every(void);

// Counting begins, with the session. False: there is no memory.
bool sonde_acquisitions_start(void);
// It ends, before the session; or the calling process is a forked child, which has nothing to count
// yet.
void sonde_acquisitions_stop(void);

#endif
