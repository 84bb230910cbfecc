// Sleeps, and returns the moment at which it is about to ask for the GIL again.
#include <time.h>

long long doze(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, 0);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
