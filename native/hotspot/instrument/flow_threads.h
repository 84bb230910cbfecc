// Where each thread is in its tree of the call flow. A virtual thread has a place of its own, in
// the tree of the thread that carries it: it is taken along when another one carries it.
#ifndef SONDE_HOTSPOT_FLOW_THREADS_H
#define SONDE_HOTSPOT_FLOW_THREADS_H

#include "core/flow/flow_tree.h"

#include <jvmti.h>

// A thread of the kernel's, while one of its calls is noted.
typedef struct sonde_flow_carrier sonde_flow_carrier;

// The place of the calling thread, whose Thread.threadId() is `number` (0 without virtual threads).
// NULL: nothing is noted. Else sonde_flow_thread_done() follows.
sonde_flow_thread *sonde_flow_thread_at(JNIEnv *env, uint64_t number, uint64_t now,
                                        sonde_flow_carrier **carrier);
// `left`: the event was an exit; a virtual thread that is in no call has no place any more.
void sonde_flow_thread_done(sonde_flow_carrier *carrier, sonde_flow_thread *thread, bool left);

// False: no memory.
bool sonde_flow_threads_start(JNIEnv *env);
// Afterwards no thread is, or comes to be, between the two above.
void sonde_flow_threads_stop(void);
// Calls of this thread are noted, though it is no thread of the program; or no more.
void sonde_flow_threads_train(bool training);
// In a forked child, which has no other threads.
void sonde_flow_threads_forked(void);

#endif
