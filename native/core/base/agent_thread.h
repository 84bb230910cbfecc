// Threads of the agent's own, in the target.
//
// The C library ends a process when its last thread ends, and counts ours like any other. So they
// look whether the program has a thread left, and end the process as the C library would have.
#ifndef SONDE_CORE_AGENT_THREAD_H
#define SONDE_CORE_AGENT_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

// The names of all of them begin with this.
#define SONDE_THREAD_PREFIX "sonde-"
// Threads that are being started, which may exist without their name yet.
extern _Atomic unsigned sonde_threads_starting;

// Starts one that gets no signal of the target's. `wake` makes it call sonde_exit_if_last soon. 0
// or an errno.
int sonde_start_agent_thread(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*body)(void *), const char *name, void (*wake)(void));

// To be called by each of them now and then, at any rate. Does not return if the program has no
// thread left.
void sonde_exit_if_last(void);

// The calling thread, which is one of the program's, wakes ours when it ends as the last one:
// otherwise they notice only at their next check.
void sonde_agent_threads_watch_exit(void);

// In a forked child: our threads are not there.
void sonde_agent_threads_forked(void);

#endif
