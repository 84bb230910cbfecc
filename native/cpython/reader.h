// Reading the stacks of other threads from a thread of the agent's own.
//
// Used where perf may not send signals (then it takes all samples) and, with waits asked for, to see
// the threads that are still waiting when the recording ends. A read counts only if the thread's CPU
// clock stood still meanwhile: then it did not run, and its frames did not move.
#ifndef SONDE_READER_H
#define SONDE_READER_H

#include "../core/session.h"

// Starts the thread if this session needs it. 0 or an errno.
int sonde_reader_start(const sonde_arm *arm);
void sonde_reader_stop(void);
// In a forked child the thread is gone.
void sonde_reader_forked(void);

#endif
