#define _GNU_SOURCE
#include "walk.h"

#include "../core/hot.h"
#include "../core/names.h"
#include "methods.h"
#include "natives.h"
#include "roles.h"
#include "vm.h"

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

// While a method of compiled code makes its frame or leaves it, some instructions long, the walker
// cannot tell where the caller's begins; nor while it runs a small function of the VM's that needs
// no frame for itself. There the return address is what lies on top of the stack,
// or next below the caller's frame pointer. The stack is then told as the caller has it, which has
// not yet lost control, or just got it back.
//
// What was guessed wrong may end anywhere: it is believed only if it ends where the thread's last
// stack did.
static bool ends_like_the_last(sonde_thread *thread, const sonde_java_trace *trace)
{
    if (trace->count <= 0 || !thread->depth)
        return false;
    uint64_t last = thread->told[0] >> SONDE_INSTR_BITS;
    jmethodID root = trace->frames[trace->count - 1].method;
    return root && sonde_method_known(root) == last;
}

static void walk_from_caller(sonde_thread *thread, sonde_java_trace *trace,
                             const ucontext_t *context)
{
    jint reason = trace->count;
    bool found = false;
    for (int saved = 0; saved <= 1 && !found; saved++) {
        ucontext_t caller = *context;
        greg_t *registers = caller.uc_mcontext.gregs;
        const uintptr_t *stack = (const uintptr_t *)sonde_context_sp(context);
        if (saved)
            registers[REG_RBP] = (greg_t)stack[0];
        registers[REG_RIP] = (greg_t)stack[saved];
        registers[REG_RSP] = (greg_t)(stack + saved + 1);
        sonde_vm.call_trace(trace, MOST_FRAMES, &caller);
        found = ends_like_the_last(thread, trace);
    }
    if (!found)
        trace->count = reason;
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
    uint64_t native = sonde_native_at(thread, sonde_context_pc(context));
    if (native)
        out[depth++] = native;
    sonde_java_trace trace = {env, 0, (sonde_java_frame *)thread->scratch};
    if (env && !atomic_load_explicit(&sonde_vm.ended, memory_order_relaxed))
        sonde_vm.call_trace(&trace, MOST_FRAMES, (void *)context);
    bool unknown = trace.count == UNKNOWN_NOT_JAVA || trace.count == UNKNOWN_JAVA ||
                   trace.count == NOT_WALKABLE_JAVA;
    if (unknown && sonde_vm_make_walkable(record, sonde_context_sp(context)))
        sonde_vm.call_trace(&trace, MOST_FRAMES, (void *)context);
    if (trace.count == UNKNOWN_JAVA || trace.count == NOT_WALKABLE_JAVA)
        walk_from_caller(thread, &trace, context);
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
