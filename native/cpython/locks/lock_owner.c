#define _GNU_SOURCE
#include "cpython/locks/lock_owner.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/call_sites.h"
#include "cpython/frames/frames.h"
#include "cpython/locks/gil_state.h"
#include "cpython/walk/thread_list.h"
#include "cpython/walk/walk.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS SONDE_MAX_SLOTS
#define MAX_HELD 4096
#define MAX_CANDIDATES 4
#define MAX_FRAMES 4096
#define MAX_HOPS 65536
// A scan of all threads may take this part of one core, 1 %, however many threads want one.
#define SCAN_SHARE 100

static bool looks_like_object(PyObject *object)
{
    return object && may_be_address(object) && Py_TYPE(object) && may_be_address(Py_TYPE(object));
}

static bool is_lock_object(PyObject *object)
{
    if (!looks_like_object(object))
        return false;
    const char *name = Py_TYPE(object)->tp_name;
    return strcmp(name, "_thread.lock") == 0 || strcmp(name, "_thread.RLock") == 0;
}

// Both locks of the _thread module have their native part right after the object's head: a pointer
// to a semaphore up to 3.13, the mutex itself from 3.14.
static uint64_t native_of(PyObject *object, uint32_t kind)
{
    const void *native = object + 1;
    return kind == SONDE_KIND_PARKED ? (uint64_t)(uintptr_t)native : *(const uint64_t *)native;
}

// The lock that is released when its frame is left, or NULL. Up to 3.13 a `with` keeps the bound
// __exit__, from 3.14 __exit__ and the object it is for.
static PyObject *kept_lock(PyObject *value)
{
    if (!looks_like_object(value))
        return NULL;
#if PY_VERSION_HEX < 0x030E0000
    if (Py_TYPE(value) != &PyCFunction_Type)
        return NULL;
    PyCFunctionObject *method = (PyCFunctionObject *)value;
    if (strcmp(method->m_ml->ml_name, "__exit__") != 0)
        return NULL;
    value = method->m_self;
#endif
    return is_lock_object(value) ? value : NULL;
}

// ---- one scan of all threads, shared by everybody who looks for a holder
//
// A scan costs the more the more threads there are, and so does the number of threads that look.
// So one scan finds what all threads hold, and serves all who have waited since before it.

typedef struct {
    PyObject *object;
    uint64_t native; // the word that a semaphore lock has in the object
    uint32_t tid;
    PyThreadState *state;
} held_lock;

// Threads of one program wait at the same few places.
#define SITES_BITS 8
typedef struct {
    const PyCodeObject *code;
    Py_ssize_t index;
    int depth, operands;
} scan_site;

static struct {
    _Atomic bool taken; // by the thread that scans or reads; none waits for it
    uint64_t began;     // the last scan
    _Atomic uint64_t next;
    uint32_t count;
    held_lock held[MAX_HELD];
    sonde_thread_ref listed[MAX_THREADS];
    scan_site sites[1u << SITES_BITS];
} scan;

static _Atomic uint64_t scans, walks;

// For tests: how many scans were made, and how many threads they walked.
__attribute__((visibility("default"))) void sonde_agent_scans(uint64_t counts[2])
{
    counts[0] = atomic_load(&scans);
    counts[1] = atomic_load(&walks);
}

typedef struct {
    sonde_thread *thread;
    PyThreadState *state;
    uint64_t lock; // 0: all that it holds go into `scan`
    uint32_t kind;
    uint32_t tid;
    bool holds;
} search;

static void site_of(const search *s, const PyCodeObject *code, Py_ssize_t index, scan_site *out)
{
    uint64_t key = (uint64_t)(uintptr_t)code + (uint64_t)index;
    scan_site *known = &scan.sites[sonde_hash_place(key, SITES_BITS)];
    if (!s->lock && known->code == code && known->index == index) {
        *out = *known;
        return;
    }
    *out = (scan_site){code, index, sonde_stack_depth(s->thread, code, index),
                       sonde_operands(code, index)};
    if (!s->lock)
        *known = *out;
}

// Returns whether the search is over.
static bool note_held(search *s, PyObject *object)
{
    if (s->lock) {
        s->holds = native_of(object, s->kind) == s->lock;
        return s->holds;
    }
    if (scan.count < MAX_HELD)
        scan.held[scan.count++] =
            (held_lock){object, native_of(object, SONDE_KIND_SEMAPHORE), s->tid, s->state};
    return scan.count == MAX_HELD;
}

static void search_body(void *arg)
{
    search *s = arg;
    frame_t *f = sonde_cpython_top(s->state);
    bool top = true;
    for (int hops = 0; f && hops < MAX_FRAMES; f = f->previous, hops++) {
        if (((uintptr_t)f & 7) || (unsigned char)f->owner > FRAME_OWNER_LAST)
            return;
        PyCodeObject *code;
        Py_ssize_t index;
        if (frame_is_shim(f))
            continue;
        if (!frame_decode(f, &code, &index))
            return;
        scan_site site;
        site_of(s, code, index, &site);
        // What the innermost frame is just calling is not held yet: it may be the very wait for it.
        int kept = top ? site.operands : 0;
        PyObject *called = NULL;
#if PY_VERSION_HEX >= 0x030E0000
        // From 3.14 a `with` puts its way out on the stack before it calls __enter__: while the
        // call is of this very lock, the two values below it are of the same statement.
        if (kept >= 2 && site.depth - kept >= 2)
            called = frame_value(f, code->co_nlocalsplus + site.depth - kept + 1);
#endif
        for (int i = 0; i < site.depth - kept; i++) {
            PyObject *object = kept_lock(frame_value(f, code->co_nlocalsplus + i));
            if (!object || (object == called && i >= site.depth - kept - 2))
                continue;
            if (note_held(s, object))
                return;
        }
        top = false;
    }
}

static void scan_threads(sonde_thread *thread, uint64_t now)
{
    uint64_t cpu = sonde_thread_cpu();
    scan.began = now;
    scan.count = 0;
    memset(scan.sites, 0, sizeof scan.sites);
    int n = sonde_threads_here.list(scan.listed, MAX_THREADS);
    for (int i = 0; i < n; i++) {
        search s = {thread, scan.listed[i].state, 0, 0, scan.listed[i].tid, false};
        sonde_guard_run(search_body, &s);
    }
    atomic_fetch_add_explicit(&scans, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&walks, n > 0 ? (uint64_t)n : 0, memory_order_relaxed);
    atomic_store(&scan.next, sonde_now() + SCAN_SHARE * (sonde_thread_cpu() - cpu));
}

// Who may hold the lock by a scan that began after `since`; -1 if there is none and none may be
// made yet.
static int candidates_of(sonde_thread *thread, uint64_t lock, uint32_t kind, uint64_t since,
                         held_lock *out)
{
    if (atomic_exchange(&scan.taken, true))
        return -1;
    int n = 0;
    if (scan.began <= since) {
        uint64_t now = sonde_now();
        if (now < atomic_load(&scan.next))
            n = -1;
        else
            scan_threads(thread, now);
    }
    for (uint32_t i = 0; n >= 0 && n < MAX_CANDIDATES && i < scan.count; i++) {
        const held_lock *held = &scan.held[i];
        uint64_t native =
            kind == SONDE_KIND_PARKED ? (uint64_t)(uintptr_t)(held->object + 1) : held->native;
        if (native == lock)
            out[n++] = *held;
    }
    atomic_store(&scan.taken, false);
    return n;
}

uint64_t sonde_owner_pause(void)
{
    uint64_t now = sonde_now(), next = atomic_load(&scan.next);
    return next > now ? next - now : 0;
}

void sonde_owner_forked(void)
{
    atomic_store(&scan.taken, false); // the thread that had it does not exist here
    scan.began = scan.count = 0;
    atomic_store(&scan.next, 0);
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

typedef struct {
    const PyThreadState *state;
    uint32_t tid; // 0: no thread has it
} state_job;

static void find_state(void *arg)
{
    state_job *job = arg;
    int hops = 0; // a list that changes meanwhile may lead in a circle
    for (PyInterpreterState *i = _PyRuntime.interpreters.head; i && hops < MAX_HOPS; i = i->next)
        for (PyThreadState *t = i->threads.head; t && hops < MAX_HOPS; t = t->next, hops++)
            if (t == job->state) {
                job->tid = (uint32_t)t->native_thread_id;
                return;
            }
}

// The GIL records its holder. The caller knows that this thread is in C code.
static uint32_t find_gil_holder(sonde_thread *thread, const struct _gil_runtime_state *gil,
                                uint32_t *depth, sonde_event *event)
{
    state_job found = {sonde_gil_holder(gil), 0};
    if (!sonde_guard_run(find_state, &found) || !found.tid)
        return 0;
    walk_job job = {thread, (PyThreadState *)found.state, event, 0};
    event->tid = found.tid; // what is walked is not the caller's own
    if (!sonde_guard_run(walk_body, &job) || (event->flags & SONDE_UNDECODABLE))
        return 0;
    *depth = job.depth;
    return found.tid;
}

static bool holds_still(sonde_thread *thread, const held_lock *held, uint64_t lock, uint32_t kind,
                        uint32_t *depth, sonde_event *event)
{
    // The thread that looks may be the holder itself: then it waits for ever.
    bool own = held->tid == (uint32_t)syscall(SYS_gettid);
    uint64_t cpu = own ? 0 : sonde_threads_here.cpu(held->tid);
    if (!own && !cpu)
        return false;
    // It may be long ago that its state was listed, and the memory may be another thread's now.
    state_job job = {held->state, 0};
    if (!sonde_guard_run(find_state, &job) || job.tid != held->tid)
        return false;
    search s = {thread, held->state, lock, kind, held->tid, false};
    if (!sonde_guard_run(search_body, &s) || !s.holds)
        return false;
    walk_job walk = {thread, held->state, event, 0};
    *event = (sonde_event){.tid = held->tid}; // what is walked is not the caller's own
    if (!sonde_guard_run(walk_body, &walk) || (event->flags & SONDE_UNDECODABLE))
        return false;
    *depth = walk.depth;
    // Had it run meanwhile, what we read may be of two moments.
    return own || sonde_threads_here.cpu(held->tid) == cpu;
}

enum sonde_owner_answer sonde_find_owner(sonde_thread *thread, uint64_t lock, uint32_t kind,
                                         uint64_t since, uint32_t *tid, uint32_t *depth,
                                         sonde_event *event)
{
    if (!sonde_guard_works_here()) // other threads may run while we read them
        return SONDE_OWNER_UNKNOWN;
    if (kind == SONDE_KIND_GIL) {
        *tid = find_gil_holder(thread, (const struct _gil_runtime_state *)(uintptr_t)lock, depth,
                               event);
        return *tid ? SONDE_OWNER_FOUND : SONDE_OWNER_UNKNOWN;
    }
    held_lock candidates[MAX_CANDIDATES];
    int n = candidates_of(thread, lock, kind, since, candidates);
    for (int i = 0; i < n; i++)
        if (holds_still(thread, &candidates[i], lock, kind, depth, event)) {
            *tid = candidates[i].tid;
            return SONDE_OWNER_FOUND;
        }
    return n < 0 ? SONDE_OWNER_LATER : SONDE_OWNER_UNKNOWN;
}
