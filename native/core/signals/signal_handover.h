// Signals of the program that another thread took although the kernel had chosen the main one.
//
// The kernel wakes the main thread for a signal sent to the process, but the signal stays in a
// queue that all threads share. A thread that computes enters the kernel's signal code at every
// tick, and takes what it finds there. The main thread, on its way to a processor, then finds
// nothing and goes back to its system call (6.18). Where the handler only leaves a mark for the
// main thread, as CPython's does, no code looks at the mark until that call returns.
//
// So every tick looks for such a mark. If there is one, the main thread gets a SIGTRAP of ours,
// whose handler lets the call return EINTR as if the signal had come there.
#ifndef SONDE_CORE_SIGNAL_HANDOVER_H
#define SONDE_CORE_SIGNAL_HANDOVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // ucontext_t's registers
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

// The signals (bit N - 1 for signal N) whose handler ran and left a mark that the main thread has
// not seen; 0: there is none. In a signal handler, on any thread, without the GIL.
typedef uint64_t sonde_marked_signals(void);

// `marked` may be NULL: this runtime's handlers leave no marks. Before the first tick.
void sonde_handover_prepare(sonde_marked_signals *marked);

// In the handler of SIGTRAP, on any thread.
void sonde_handover_check(ucontext_t *context);

// Is this the SIGTRAP that one thread sends the main one?
bool sonde_is_handover(const siginfo_t *info);

#endif
