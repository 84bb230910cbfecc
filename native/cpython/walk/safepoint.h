// Threads sample themselves where the interpreter checks for requests: at the end of a loop's
// iteration, where a function begins, after a call. There it makes pending calls, and one is ours.
// Needs nothing of the system: no perf, no POSIX signal, no reading of other threads' memory.
#ifndef SONDE_CPYTHON_SAFEPOINT_H
#define SONDE_CPYTHON_SAFEPOINT_H

#include <stdint.h>

// Asks the thread that runs Python code now to sample itself as soon as it can; from a thread of
// the agent's own, without the GIL. 0, or the id of the only thread that can be asked here.
uint32_t sonde_safepoint_ask(void);

// In a forked child no thread was asked.
void sonde_safepoint_forked(void);

#endif
