// Clocks that may be read in a signal handler.
#ifndef SONDE_CORE_CLOCK_H
#define SONDE_CORE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t sonde_clock(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t sonde_now(void) { return sonde_clock(CLOCK_MONOTONIC); }

static inline uint64_t sonde_thread_cpu(void) { return sonde_clock(CLOCK_THREAD_CPUTIME_ID); }

// The CPU clock of another thread of this process, to the nanosecond and without a descriptor: the
// kernel encodes the thread in the clock id (CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED,
// linux/posix-timers.h).
static inline clockid_t sonde_cpu_clock_of(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3) | 6;
}

#endif
