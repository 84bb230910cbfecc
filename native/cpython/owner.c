#define _GNU_SOURCE
#include "owner.h"

#include "../core/guard.h"
#include "frames.h"
#include "gil.h"
#include "sites.h"
#include "threads.h"
#include "walk.h"

#if PY_VERSION_HEX < 0x030C0000
#include "internal/pycore_gil.h"
#endif

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_THREADS 512
#define MOST_FRAMES 4096

// Both locks of the _thread module have their native part right after the object's head: a pointer
// to a semaphore up to 3.13, the mutex itself from 3.14.
static bool is_lock_object(PyObject *object, uint64_t lock, uint32_t kind)
{
    const char *name = Py_TYPE(object)->tp_name;
    if (strcmp(name, "_thread.lock") != 0 && strcmp(name, "_thread.RLock") != 0)
        return false;
    const void *native = object + 1;
    if (kind == SONDE_KIND_PARKED)
        return (uint64_t)(uintptr_t)native == lock;
    return *(const uint64_t *)native == lock;
}

static bool looks_like_object(PyObject *object)
{
    return object && may_be_address(object) && Py_TYPE(object) && may_be_address(Py_TYPE(object));
}

// Does leaving this frame release the lock? Up to 3.13 a `with` keeps the bound __exit__, from 3.14
// __exit__ and the object it is for.
static bool is_kept(PyObject *value, uint64_t lock, uint32_t kind)
{
    if (!looks_like_object(value))
        return false;
#if PY_VERSION_HEX >= 0x030E0000
    return is_lock_object(value, lock, kind);
#else
    if (Py_TYPE(value) != &PyCFunction_Type)
        return false;
    PyCFunctionObject *method = (PyCFunctionObject *)value;
    return strcmp(method->m_ml->ml_name, "__exit__") == 0 && looks_like_object(method->m_self) &&
           is_lock_object(method->m_self, lock, kind);
#endif
}

typedef struct {
    sonde_thread *thread;
    PyThreadState *state;
    uint64_t lock;
    uint32_t kind;
    bool holds;
} search;

static void search_body(void *arg)
{
    search *s = arg;
    frame_t *f = sonde_cpython_top(s->state);
    bool top = true;
    for (int hops = 0; f && hops < MOST_FRAMES; f = f->previous, hops++) {
        if (((uintptr_t)f & 7) || (unsigned char)f->owner > FRAME_OWNER_LAST)
            return;
        PyCodeObject *code;
        Py_ssize_t index;
        if (frame_is_shim(f))
            continue;
        if (!frame_decode(f, &code, &index))
            return;
        int depth = sonde_stack_depth(s->thread, code, index);
        // What the innermost frame is just calling is not held yet: it may be the very wait for it.
        int kept = top ? sonde_operands(code, index) : 0;
#if PY_VERSION_HEX >= 0x030E0000
        // From 3.14 a `with` puts its way out on the stack before it calls __enter__: while the
        // call is of this very lock, the two values below it are of the same statement.
        if (kept >= 2 && depth - kept >= 2) {
            PyObject *self = frame_value(f, code->co_nlocalsplus + depth - kept + 1);
            if (looks_like_object(self) && is_lock_object(self, s->lock, s->kind))
                kept += 2;
        }
#endif
        for (int i = 0; i < depth - kept; i++)
            if (is_kept(frame_value(f, code->co_nlocalsplus + i), s->lock, s->kind)) {
                s->holds = true;
                return;
            }
        top = false;
    }
}

typedef struct {
    sonde_thread *thread;
    PyThreadState *state;
    sonde_event *event;
    uint32_t depth;
} walk_job;

static void walk_body(void *arg)
{
    walk_job *job = arg;
    const frame_t *top = sonde_cpython_top(job->state);
    job->depth = sonde_cpython_walk_thread(job->thread, job->state, job->event);
    if (sonde_cpython_top(job->state) != top)
        job->event->flags |= SONDE_UNDECODABLE;
}

// The GIL itself tells who has it. The caller knows that this thread is in C code.
static uint32_t find_gil_holder(sonde_thread *thread, const struct _gil_runtime_state *gil,
                                const sonde_listed *listed, int n, uint32_t *depth,
                                sonde_event *event)
{
    const PyThreadState *holder = sonde_gil_holder(gil);
    for (int i = 0; i < n; i++) {
        if (listed[i].state != holder)
            continue;
        walk_job job = {thread, listed[i].state, event, 0};
        event->tid = listed[i].tid; // what is walked is not the caller's own
        if (!sonde_guard_run(walk_body, &job) || (event->flags & SONDE_UNDECODABLE))
            return 0;
        *depth = job.depth;
        return listed[i].tid;
    }
    return 0;
}

uint32_t sonde_find_owner(sonde_thread *thread, uint64_t lock, uint32_t kind, uint32_t *depth,
                          sonde_event *event)
{
    if (!sonde_guard_works_here()) // other threads may run while we read them
        return 0;
    sonde_listed listed[MOST_THREADS];
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    int n = sonde_threads_here.list(listed, MOST_THREADS);
    if (kind == SONDE_KIND_GIL)
        return find_gil_holder(thread, (const struct _gil_runtime_state *)(uintptr_t)lock, listed,
                               n, depth, event);
    for (int i = 0; i < n; i++) {
        // The one who looks may be the holder itself: then it waits for ever.
        bool own = listed[i].tid == self;
        uint64_t cpu = own ? 0 : sonde_threads_here.cpu(listed[i].tid);
        if (!own && !cpu)
            continue;
        search s = {thread, listed[i].state, lock, kind, false};
        if (!sonde_guard_run(search_body, &s) || !s.holds)
            continue;
        walk_job job = {thread, listed[i].state, event, 0};
        event->tid = listed[i].tid; // what is walked is not the caller's own
        if (!sonde_guard_run(walk_body, &job) || (event->flags & SONDE_UNDECODABLE))
            continue;
        // Had it run meanwhile, what we read may be of two moments.
        if (!own && sonde_threads_here.cpu(listed[i].tid) != cpu)
            continue;
        *depth = job.depth;
        return listed[i].tid;
    }
    return 0;
}
