#define _GNU_SOURCE
#include "walk.h"

#include "../core/guard.h"
#include "../core/hot.h"
#include "../core/names.h"
#include "callers.h"
#include "methods.h"
#include "natives.h"
#include "roles.h"
#include "vm.h"
#include "vm_code.h"

#include <stdatomic.h>
#include <stddef.h>

// Room for what is not Java above and below the Java frames.
#define MOST_FRAMES (SONDE_MAX_DEPTH - 2)
_Static_assert(sizeof((sonde_thread *)0)->scratch >= MOST_FRAMES * sizeof(sonde_java_frame),
               "frames are put there: a Java thread's stack may be nearly used up");
_Static_assert(offsetof(sonde_thread, scratch) % _Alignof(sonde_java_frame) == 0,
               "frames are put there");

static uint32_t unwalked(sonde_event *event, jint reason)
{
    uint32_t number = (uint32_t)-reason;
    atomic_fetch_add(&sonde.header->unwalked[number < SONDE_UNWALKED ? number : 0], 1);
    event->flags = SONDE_UNDECODABLE;
    return 0;
}

uint64_t sonde_java_word(sonde_thread *thread, const sonde_java_frame *frame)
{
    // The class was loaded, but its methods got no ids yet: see events.c.
    static const uint64_t without_id;
    if (!frame->method)
        return sonde_describe_native(thread, &without_id, NULL, "[method of a class just loaded]")
               << SONDE_INSTR_BITS;
    uint64_t id = sonde_method_id(thread, frame->method);
    uint64_t index = frame->bci < 0 ? 0 : (uint64_t)frame->bci + 1;
    return id << SONDE_INSTR_BITS | (id ? index & SONDE_INSTR_MASK : 0);
}

enum {
    UNKNOWN_NOT_JAVA = -3,
    NOT_WALKABLE_NOT_JAVA = -4,
    UNKNOWN_JAVA = -5,
    NOT_WALKABLE_JAVA = -6,
    THREAD_EXIT = -8,
    DEOPTIMIZATION = -9,
};

// What a thread without a stack does for itself, if that is known.
static uint64_t own_work(sonde_thread *thread, jint reason, bool is_java)
{
    static const uint64_t ends, deoptimizes;
    if (reason == 0)
        return sonde_role(thread, is_java);
    if (reason == THREAD_EXIT)
        return sonde_describe_native(thread, &ends, NULL, "[thread ends]") << SONDE_INSTR_BITS;
    if (reason == DEOPTIMIZATION)
        return sonde_describe_native(thread, &deoptimizes, NULL, "[deoptimization]")
               << SONDE_INSTR_BITS;
    // A thread of the VM's own that is a Java thread by its record, as compilers are, has no frame
    // to begin with, which is called unknown.
    return sonde_role_of_vm(thread);
}

typedef struct {
    const ucontext_t *context;
    const sonde_vm_anchor *left; // set: where Java was left; else the context tells
    bool in_java;
    sonde_places found;
} places_job;

SONDE_HOT static void places_body(void *arg)
{
    places_job *job = arg;
    if (job->left)
        sonde_find_places_below(&(sonde_place){job->left->pc, job->left->fp, job->left->sp},
                                &job->found);
    else
        sonde_find_places(job->context, job->in_java, &job->found);
}

// Words on a stack may look like addresses of code that are none.
SONDE_HOT static void find_places(places_job *job)
{
    if (sonde_guard_run_unasked(places_body, job))
        return;
    job->found.walkable = false;
    job->found.count = 0;
}

typedef struct {
    sonde_java_trace *trace;
    const ucontext_t *context;
} walk_job;

static void walk_body(void *arg)
{
    walk_job *job = arg;
    sonde_vm.call_trace(job->trace, MOST_FRAMES, (void *)(uintptr_t)job->context);
}

static uint64_t root_of(const sonde_java_trace *trace)
{
    return trace->count > 0 && trace->count < MOST_FRAMES
               ? (uint64_t)(uintptr_t)trace->frames[trace->count - 1].method
               : 0;
}

// What was taken for a return address wrongly may lead anywhere: it is believed only if the stack
// begins as the thread's others do.
static bool is_believed(const sonde_thread *thread, const sonde_java_trace *trace)
{
    uint64_t root = root_of(trace);
    return root && (root == thread->root || !thread->root);
}

// While a method of compiled code makes its frame or leaves it, some instructions long, the walker
// cannot tell where the caller's begins; nor where such code has pushed something, nor in routines
// that the VM generates, nor in functions of its own that compiled code calls without ado. The
// stack of a routine is told as its caller has it, and so is that of a method at its edge: it has
// not lost control yet, or will get it back.
static bool walk_from_places(const sonde_thread *thread, sonde_java_trace *trace,
                             const places_job *job)
{
    for (unsigned i = 0; i < job->found.count; i++) {
        const sonde_place *place = &job->found.places[i];
        ucontext_t as_if = *job->context;
        greg_t *registers = as_if.uc_mcontext.gregs;
        registers[REG_RBP] = (greg_t)place->fp;
        registers[REG_RIP] = (greg_t)place->pc;
        registers[REG_RSP] = (greg_t)place->sp;
        sonde_vm.call_trace(trace, MOST_FRAMES, &as_if);
        if (is_believed(thread, trace))
            return true;
    }
    return false;
}

// A routine that calls the VM has put down where it is. The walker looks up the instruction after
// the call of the routine in what the compilers tell of their code, where it may find nothing: they
// tell of the call. For as long as it walks, the thread has left Java from there.
static bool walk_below_routine(const sonde_thread *thread, const void *record,
                               sonde_java_trace *trace, const ucontext_t *context)
{
    sonde_vm_anchor *anchor = sonde_vm_anchor_of(record);
    if (!anchor || !anchor->sp || sonde_vm_state(record) != SONDE_IN_VM)
        return false;
    places_job job = {.context = context, .left = anchor};
    find_places(&job);
    sonde_vm_anchor before = {anchor->sp, anchor->pc, anchor->fp};
    bool believed = false;
    for (unsigned i = 0; i < job.found.count && !believed; i++) {
        const sonde_place *place = &job.found.places[i];
        anchor->sp = place->sp;
        anchor->pc = place->pc;
        anchor->fp = place->fp;
        atomic_signal_fence(memory_order_seq_cst);
        believed = sonde_guard_run_unasked(walk_body, &(walk_job){trace, context}) &&
                   is_believed(thread, trace);
    }
    atomic_signal_fence(memory_order_seq_cst);
    anchor->fp = before.fp;
    anchor->pc = before.pc;
    anchor->sp = before.sp;
    return believed;
}

SONDE_HOT static void walk_java(sonde_thread *thread, const void *record, sonde_java_trace *trace,
                                const ucontext_t *context)
{
    places_job job = {.context = context, .in_java = sonde_vm_state(record) == SONDE_IN_JAVA};
    find_places(&job);
    if (job.found.count && !job.found.walkable) {
        if (!walk_from_places(thread, trace, &job))
            trace->count = NOT_WALKABLE_JAVA;
        return;
    }
    sonde_vm.call_trace(trace, MOST_FRAMES, (void *)(uintptr_t)context);
    jint reason = trace->count;
    bool unknown =
        reason == UNKNOWN_NOT_JAVA || reason == UNKNOWN_JAVA || reason == NOT_WALKABLE_JAVA;
    if (unknown && sonde_vm_make_walkable(record, sonde_context_sp(context))) {
        sonde_vm.call_trace(trace, MOST_FRAMES, (void *)(uintptr_t)context);
        reason = trace->count;
    }
    if (reason == NOT_WALKABLE_NOT_JAVA) {
        if (!walk_below_routine(thread, record, trace, context))
            trace->count = reason;
    } else if (reason == UNKNOWN_JAVA || reason == NOT_WALKABLE_JAVA) {
        if (!walk_from_places(thread, trace, &job))
            trace->count = reason;
    } else if (root_of(trace)) {
        thread->root = root_of(trace);
    }
}

// A Java thread is none yet in its first steps: not before it is one it is known as such.
static void is_thread(sonde_thread *thread, const JNIEnv *env)
{
    if (!env || thread->named)
        return;
    thread->slot->thread_object = sonde_vm_own_object();
    thread->named = true;
}

void sonde_hotspot_is(sonde_thread *thread)
{
    const void *record;
    is_thread(thread, sonde_vm_thread(&record));
}

SONDE_HOT uint32_t sonde_hotspot_walk(sonde_thread *thread, const ucontext_t *context,
                                      sonde_event *event)
{
    const void *record;
    JNIEnv *env = sonde_vm_thread(&record);
    is_thread(thread, env);
    uint64_t *out = sonde_stack(thread);
    uint32_t depth = 0;
    uintptr_t pc = sonde_context_pc(context);
    uint64_t native = sonde_is_generated(pc) ? 0 : sonde_native_at(thread, pc);
    if (native)
        out[depth++] = native;
    sonde_java_trace trace = {env, 0, (sonde_java_frame *)thread->scratch};
    if (env && !atomic_load_explicit(&sonde_vm.ended, memory_order_relaxed))
        walk_java(thread, record, &trace, context);
    if (trace.count <= 0) {
        uint64_t role = own_work(thread, trace.count, env);
        if (!role)
            return unwalked(event, trace.count);
        out[depth++] = role;
        return depth;
    }
    sonde_known_refresh(thread);
    for (jint i = 0; i < trace.count; i++)
        if (!(out[depth++] = sonde_java_word(thread, &trace.frames[i])))
            return unwalked(event, 0); // no room to tell what it is
    if (trace.count == MOST_FRAMES)
        event->flags |= SONDE_TRUNCATED;
    return depth;
}
