// Reads the stacks of other threads from a thread of the agent's own.
//
// Used where perf may not send signals (then it takes all samples, or asks the threads to take
// them); with waits asked for, to see the threads that are still waiting when the recording ends;
// and from the recorder's side where no agent can be injected. A read counts only if the thread's
// CPU clock did not advance meanwhile: then it did not run, and its frames did not move.
#ifndef SONDE_CORE_READER_THREAD_H
#define SONDE_CORE_READER_THREAD_H

#include "core/session/records.h"

typedef struct {
    uint32_t tid;
    void *state; // the runtime's own record of the thread
} sonde_thread_ref;

// How to get at the threads of a runtime, here or in another process.
typedef struct {
    // The existing threads; how many, or -1 if the lists changed meanwhile.
    int (*list)(sonde_thread_ref *out, int room);
    // CPU time of a thread in nanoseconds, 0 once it has ended.
    uint64_t (*cpu)(uint32_t tid);
    // The folder of the process below /proc.
    const char *proc;
    // Fills sonde_stack(to) with the thread's stack; the depth. Runs under the guard.
    uint32_t (*walk)(sonde_thread *to, void *state, sonde_event *event);
    // What changes whenever the stack does, as far as one word can. Runs under the guard.
    const void *(*top)(void *state);
    // Asks the running thread to sample itself, where that is the sampler. 0, or the id of the only
    // thread that can be asked.
    uint32_t (*ask)(void);
} sonde_reader_ops;

// Starts the thread if this session needs it. 0 or an errno.
int sonde_reader_start(const sonde_arm *arm, const sonde_reader_ops *ops);
void sonde_reader_stop(void);
// In a forked child the thread does not exist.
void sonde_reader_forked(void);

#endif
