#define _GNU_SOURCE
#include "cpython/walk/thread_list.h"

#include "core/base/clock.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"
#include "cpython/walk/safepoint.h"
#include "cpython/walk/walk.h"

typedef struct {
    sonde_thread_ref *out;
    int room, found;
} listing;

// Lists may change while we go along them: what is read is checked later by asking the kernel for
// the thread's CPU clock, and a list that leads nowhere ends in the guard or at `room`.
static void list_body(void *arg)
{
    listing *job = arg;
    int n = 0;
    for (PyInterpreterState *i = _PyRuntime.interpreters.head; i && n < job->room; i = i->next)
        for (PyThreadState *t = i->threads.head; t && n < job->room; t = t->next)
            if (t->native_thread_id)
                job->out[n++] = (sonde_thread_ref){(uint32_t)t->native_thread_id, t};
    job->found = n;
}

static int list(sonde_thread_ref *out, int room)
{
    listing job = {out, room, -1};
    return sonde_guard_run(list_body, &job) ? job.found : -1;
}

static uint64_t cpu(uint32_t tid) { return sonde_clock(sonde_cpu_clock_of((pid_t)tid)); }

// A thread that ends frees its state before the kernel has removed it, and the next thread may get
// the same memory.
static bool belongs_to(const PyThreadState *state, uint32_t tid)
{
    for (PyInterpreterState *i = _PyRuntime.interpreters.head; i; i = i->next)
        for (PyThreadState *t = i->threads.head; t; t = t->next)
            if (t == state)
                return (uint32_t)t->native_thread_id == tid;
    return false;
}

static uint32_t walk(sonde_thread *to, void *state, sonde_event *event)
{
    if (!belongs_to(state, event->tid ? event->tid : atomic_load(&to->slot->tid))) {
        event->flags = SONDE_UNDECODABLE;
        return 0;
    }
    return sonde_cpython_walk_thread(to, state, event);
}

static const void *top(void *state)
{
    PyThreadState *t = state;
#if PY_VERSION_HEX >= 0x030D0000
    return t->current_frame;
#else
    return t->cframe ? t->cframe->current_frame : NULL;
#endif
}

const sonde_reader_ops sonde_threads_here = {list, cpu, "self", walk, top, sonde_safepoint_ask};
