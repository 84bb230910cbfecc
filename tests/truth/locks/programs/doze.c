// Sleeps, and tells the moment at which it is about to ask for the GIL again, with the thread's
// processor time and its time in the run queue until then.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void doze(long ns, int schedstat, long long told[3])
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, 0);
    char text[64] = {0};
    told[2] = 0;
    if (pread(schedstat, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%*d %lld", &told[2]);
    told[1] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    told[0] = clock_ns(CLOCK_MONOTONIC);
}
