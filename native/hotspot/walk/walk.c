#define _GNU_SOURCE
#include "hotspot/walk/walk.h"

#include "core/base/hot.h"
#include "core/session/name_records.h"
#include "core/session/stack_delta.h"
#include "core/signals/fault_guard.h"
#include "hotspot/names/native_symbols.h"
#include "hotspot/names/vm_thread_roles.h"
#include "hotspot/vm/code_cache.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/blocked_stacks.h"
#include "hotspot/walk/entry_marks.h"
#include "hotspot/walk/incremental_walk.h"
#include "hotspot/walk/java_word.h"
#include "hotspot/walk/thread_span.h"
#include "hotspot/walk/walk_start.h"

#include <stdatomic.h>
#include <stddef.h>

// Room for what is not Java above and below the Java frames.
#define MAX_FRAMES (SONDE_MAX_DEPTH - 2)
_Static_assert(sizeof((sonde_thread *)0)->scratch >= MAX_FRAMES * sizeof(sonde_java_frame),
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
    const sonde_vm_anchor *left; // set: where Java was left; else the context shows it
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
    if (sonde_guard_run_unchecked(places_body, job))
        return;
    job->found.walkable = false;
    job->found.count = 0;
}

typedef struct {
    sonde_java_trace *trace;
    jint most;
    const ucontext_t *context;
} walk_job;

static void walk_body(void *arg)
{
    walk_job *job = arg;
    sonde_vm.call_trace(job->trace, job->most, (void *)(uintptr_t)job->context);
}

static ucontext_t as_if_at(const sonde_place *place, const ucontext_t *context)
{
    ucontext_t as_if = *context;
    greg_t *registers = as_if.uc_mcontext.gregs;
    registers[REG_RBP] = (greg_t)place->fp;
    registers[REG_RIP] = (greg_t)place->pc;
    registers[REG_RSP] = (greg_t)place->sp;
    return as_if;
}

static uint64_t root_of(const sonde_java_trace *trace)
{
    return trace->count > 0 && trace->count < MAX_FRAMES
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
// cannot find where the caller's begins; nor where such code has pushed something, nor in routines
// that the VM generates, nor in functions of its own that compiled code calls directly. The stack
// of a routine is written as its caller has it, and so is that of a method at its edge: the caller
// has not lost control yet, or will get it back.
static bool walk_from_places(const sonde_thread *thread, sonde_java_trace *trace,
                             const places_job *job)
{
    for (unsigned i = 0; i < job->found.count; i++) {
        ucontext_t as_if = as_if_at(&job->found.places[i], job->context);
        sonde_vm.call_trace(trace, MAX_FRAMES, &as_if);
        if (is_believed(thread, trace))
            return true;
    }
    return false;
}

// A routine that calls the VM has stored where it is. The walker looks up the instruction after the
// call of the routine in the compilers' tables of their code, where it may find nothing: they
// describe the call. For as long as it walks, the thread has left Java from there.
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
        believed = sonde_guard_run_unchecked(walk_body, &(walk_job){trace, MAX_FRAMES, context}) &&
                   is_believed(thread, trace);
    }
    atomic_signal_fence(memory_order_seq_cst);
    anchor->fp = before.fp;
    anchor->pc = before.pc;
    anchor->sp = before.sp;
    return believed;
}

// All of it, by HotSpot's walker.
SONDE_HOT static void walk_whole(sonde_thread *thread, const void *record, sonde_java_trace *trace,
                                 const places_job *job)
{
    const ucontext_t *context = job->context;
    if (job->found.count && !job->found.walkable) {
        if (!walk_from_places(thread, trace, job))
            trace->count = NOT_WALKABLE_JAVA;
        return;
    }
    sonde_vm.call_trace(trace, MAX_FRAMES, (void *)(uintptr_t)context);
    jint reason = trace->count;
    bool unknown =
        reason == UNKNOWN_NOT_JAVA || reason == UNKNOWN_JAVA || reason == NOT_WALKABLE_JAVA;
    if (unknown && sonde_vm_make_walkable(record, sonde_context_sp(context))) {
        if (!sonde_guard_run_unchecked(walk_body, &(walk_job){trace, MAX_FRAMES, context}))
            trace->count = reason;
        // It stays walkable: taken back, up to 2 % of the samples had no stack (JDK 25).
        reason = trace->count;
    }
    if (reason == NOT_WALKABLE_NOT_JAVA) {
        if (!walk_below_routine(thread, record, trace, context))
            trace->count = reason;
    } else if (reason == UNKNOWN_JAVA || reason == NOT_WALKABLE_JAVA) {
        if (!walk_from_places(thread, trace, job))
            trace->count = reason;
    } else if (root_of(trace)) {
        thread->root = root_of(trace);
    }
}

// The words of the innermost frames that the walker found, up to that depth.
SONDE_HOT static bool put_words(sonde_thread *thread, const sonde_java_trace *trace, uint32_t above,
                                uint32_t depth)
{
    sonde_id_cache_refresh(thread);
    for (uint32_t i = above; i < depth; i++)
        if (!(sonde_stack(thread)[i] = sonde_java_word(thread, &trace->frames[i - above])))
            return false; // no room to describe it
    return true;
}

// With SONDE_WHAT_CHECKED: the whole walk must find the same, if it finds anything.
static void check(const sonde_retraced *by, const sonde_java_trace *trace)
{
    if (trace->count <= 0)
        return;
    sonde_thread *thread = by->thread;
    uint32_t own = by->depth - by->above;
    bool right = trace->count == (jint)(own + by->same);
    for (jint i = 0; right && i < trace->count; i++) {
        uint32_t at = (uint32_t)i;
        uint64_t word = at < own ? sonde_stack(thread)[by->above + at]
                                 : thread->last_stack[by->same - 1 - (at - own)];
        right = sonde_java_word(thread, &trace->frames[i]) == word;
    }
    atomic_fetch_add(&sonde.header->walks_checked, 1);
    if (!right)
        atomic_fetch_add(&sonde.header->walks_wrong, 1);
}

// Of several places that may be the caller's, from the likeliest only: where that leads through a
// frame that is not known here, another one may pass it by. The walker tries them all.
SONDE_HOT static sonde_retrace_result retrace(sonde_retraced *by, const void *record,
                                              const places_job *job)
{
    // Where a thread has stored from where it leaves Java, its walker uses that.
    const sonde_vm_anchor *anchor = sonde_vm_anchor_of(record);
    if (!job->in_java || !job->found.count || !anchor || anchor->sp)
        return SONDE_RETRACE_NOT;
    by->start = job->found.walkable
                    ? (sonde_place){sonde_context_pc(job->context), sonde_context_fp(job->context),
                                    (const uintptr_t *)sonde_context_sp(job->context)}
                    : job->found.places[0];
    return sonde_retrace(by);
}

static bool walk_from(const sonde_retraced *by, sonde_java_trace *trace, jint most,
                      const places_job *job)
{
    ucontext_t as_if = as_if_at(&by->start, job->context);
    if (!sonde_guard_run_unchecked(walk_body, &(walk_job){trace, most, &as_if}) ||
        trace->count <= 0)
        return false;
    if (most < MAX_FRAMES)
        return true;
    if (!is_believed(by->thread, trace))
        return false;
    if (job->found.walkable) // what other stacks are held against
        by->thread->root = root_of(trace);
    return true;
}

// From there on the walker knows what is known of the other frames, too.
static bool learn_outermost(const sonde_retraced *by, sonde_java_trace *trace,
                            const ucontext_t *context)
{
    ucontext_t as_if = as_if_at(&by->unknown_at, context);
    return sonde_guard_run_unchecked(walk_body, &(walk_job){trace, MAX_FRAMES, &as_if}) &&
           sonde_retrace_learn(by, trace);
}

// Of a sample's places one is learned, unless its frames are to be recognized.
#define MAX_LEARNED 16

SONDE_HOT static uint32_t keep(sonde_retraced *by, const ucontext_t *context, sonde_event *event)
{
    sonde_retrace_keep(by);
    if (event->activations)
        sonde_entry_marks_sample(by, sonde_context_sp(context), event);
    return by->depth;
}

// Where the thread is in Java for sure, most of its stack is known already. The depth, or 0: the
// walker has found it all, or returned why it cannot.
SONDE_HOT static uint32_t walk_java(sonde_retraced *by, const void *record, sonde_java_trace *trace,
                                    const ucontext_t *context, sonde_event *event)
{
    sonde_thread *thread = by->thread;
    places_job job = {.context = context, .in_java = sonde_vm_state(record) == SONDE_IN_JAVA};
    find_places(&job);
    sonde_retrace_result known = retrace(by, record, &job);
    for (unsigned i = 0; event->activations && i < MAX_LEARNED && known == SONDE_RETRACE_LEARN &&
                         by->unknowns > 1 && learn_outermost(by, trace, context);
         i++)
        known = sonde_retrace(by);
    if (known == SONDE_RETRACE_WORDS) {
        jint own = (jint)(by->depth - by->above);
        if (walk_from(by, trace, by->same ? own : MAX_FRAMES, &job) && trace->count == own &&
            put_words(thread, trace, by->above, by->depth))
            known = SONDE_RETRACED;
    }
    if (known == SONDE_RETRACED) {
        if (sonde_what() & SONDE_WHAT_CHECKED) {
            walk_whole(thread, record, trace, &job);
            check(by, trace);
        }
        return keep(by, context, event);
    }
    if (known == SONDE_RETRACE_LEARN && by->unknowns > 1)
        learn_outermost(by, trace, context);
    if (known != SONDE_RETRACE_LEARN || !walk_from(by, trace, MAX_FRAMES, &job)) {
        walk_whole(thread, record, trace, &job);
        return 0;
    }
    if (by->unknowns > 1 || !sonde_retrace_learn(by, trace))
        return 0;
    known = sonde_retrace(by);
    if ((known != SONDE_RETRACED && known != SONDE_RETRACE_WORDS) ||
        trace->count != (jint)(by->depth - by->above + by->same) ||
        !put_words(thread, trace, by->above, by->depth))
        return 0;
    return keep(by, context, event);
}

// A Java thread is none yet in its first steps: not before it is one it is known as such.
static void is_thread(sonde_thread *thread, const JNIEnv *env)
{
    if (!env || thread->named)
        return;
    thread->slot->thread_object = sonde_vm_own_object();
    thread->named = true;
}

void sonde_hotspot_identify(sonde_thread *thread)
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
    event->span = sonde_thread_span(thread, env ? record : NULL);
    bool looks = sonde_walk_begins(thread);
    uint64_t *out = sonde_stack(thread);
    uint32_t depth = 0;
    uintptr_t pc = sonde_context_pc(context);
    uint64_t native = sonde_is_generated(pc) ? 0 : sonde_native_at(thread, pc);
    if (native)
        out[depth++] = native;
    uint32_t blocked = env ? sonde_blocked_stack(thread, record, depth, event) : 0;
    if (blocked)
        return depth + blocked;
    sonde_java_trace trace = {env, 0, (sonde_java_frame *)thread->scratch};
    if (env && !atomic_load_explicit(&sonde_vm.ended, memory_order_relaxed)) {
        sonde_retraced by = {.thread = thread, .looks = looks, .now = event->time, .above = depth};
        uint32_t retraced = walk_java(&by, record, &trace, context, event);
        if (retraced)
            return retraced;
    }
    if (trace.count <= 0) {
        uint64_t role = own_work(thread, trace.count, env);
        if (!role)
            return unwalked(event, trace.count);
        if (!env && event->activations)
            sonde_entry_marks_role(thread, role, event);
        out[depth++] = role;
        return depth;
    }
    if (!put_words(thread, &trace, depth, depth + (uint32_t)trace.count))
        return unwalked(event, 0);
    if (trace.count == MAX_FRAMES)
        event->flags |= SONDE_TRUNCATED;
    return depth + (uint32_t)trace.count;
}
