// Where the events come from: sys.monitoring from 3.12 on, before that the evaluator of frames. One
// of them is compiled.
#ifndef SONDE_CPYTHON_FLOW_SOURCE_H
#define SONDE_CPYTHON_FLOW_SOURCE_H

#include "core/flow/flow_tree.h"
#include "cpython/frames/frames.h"

// The thread's tree; in the library's own static memory, so that an event allocates nothing.
extern _Thread_local sonde_flow_thread sonde_flow_mine __attribute__((tls_model("initial-exec")));
// A thread that has no tree in this run yet. `entering`: the innermost frame has only begun.
sonde_flow_thread *sonde_flow_thread_new(bool entering);

// The C function that is called, for whoever is asked what its key is called.
extern PyObject *sonde_flow_callable;

// All with the GIL. Prepare answers with one of sonde_flow_header.state.
uint32_t sonde_flow_source_prepare(PyThreadState *state);
bool sonde_flow_source_on(PyThreadState *state);
void sonde_flow_source_off(PyThreadState *state);
void sonde_flow_source_release(PyThreadState *state);
// A thread has a tree now.
void sonde_flow_source_thread(PyThreadState *state);

// The thread of an event and the metric then; NULL if it is not recorded.
static inline sonde_flow_thread *sonde_flow_event_thread(uint64_t *now, bool entering)
{
    sonde_flow_thread *thread = &sonde_flow_mine;
    if (__builtin_expect(thread->run != sonde_flow.run || !thread->run, 0) &&
        !(thread = sonde_flow_thread_new(entering)))
        return NULL;
    if (sonde_flow.metric >= SONDE_FLOW_INSTRUCTIONS)
        *now = sonde_flow_now(thread);
    else if (__builtin_expect(*now < thread->left, 0))
        *now = thread->left;
    return thread;
}

// What defines a function, as the key of a node.
static inline uint64_t sonde_flow_key(const void *code) { return (uint64_t)(uintptr_t)code; }

#endif
