#define _GNU_SOURCE
#include "hotspot/walk/jvmti_stacks.h"

#include "core/sampling/self_walk.h"
#include "core/session/name_records.h"
#include "core/signals/fault_guard.h"
#include "hotspot/names/methods.h"
#include "hotspot/vm/code_cache.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/java_word.h"
#include "hotspot/walk/thread_span.h"

#include <string.h>

#define MAX_FRAMES (SONDE_MAX_DEPTH - 2)
_Static_assert(sizeof((sonde_thread *)0)->scratch >= MAX_FRAMES * sizeof(jvmtiFrameInfo),
               "frames are put there: a Java thread's stack may be nearly used up");

// ---- by JVMTI

uint32_t sonde_stack_of(sonde_thread *to, jvmtiEnv *jvmti, jthread thread, sonde_event *event)
{
    const void *record;
    if (!thread)
        event->span = sonde_thread_span(to, sonde_vm_thread(&record) ? record : NULL);
    jvmtiFrameInfo *frames = (jvmtiFrameInfo *)to->scratch;
    jint count = 0;
    if ((*jvmti)->GetStackTrace(jvmti, thread, 0, MAX_FRAMES, frames, &count))
        count = -1;
    uint64_t *out = sonde_stack(to);
    sonde_id_cache_refresh(to);
    for (jint i = 0; i < count; i++) {
        uint64_t id = sonde_method_id(to, frames[i].method);
        uint64_t index = frames[i].location < 0 ? 0 : (uint64_t)frames[i].location + 1;
        out[i] = id << SONDE_INSTR_BITS | (index & SONDE_INSTR_MASK);
        if (!id)
            count = -1;
    }
    if (count <= 0)
        event->flags |= SONDE_UNDECODABLE;
    else if (count == MAX_FRAMES)
        event->flags |= SONDE_TRUNCATED;
    return count < 0 ? 0 : (uint32_t)count;
}

// ---- from inside of the VM

// Compiled code calls the slow path of leaving a monitor as a leaf (SharedRuntime and
// InterpreterRuntime, 17 to 25): the thread is still in Java by its state, and has not stored where
// its last Java frame is. HotSpot is compiled with frame pointers, so the frames of the VM lead
// there; its walker then begins as if a signal had come right after the call.
#define MAX_VM_FRAMES 64
#define MAX_VM_FRAME_SIZE 65536

typedef struct {
    sonde_thread *to;
    const uintptr_t *frame;
    uint32_t depth;
} below_job;

enum { THREAD_EXIT = -8 }; // forte.cpp, 17 to 25

// As if a POSIX signal had come in the call that returns to `to`, with this stack. The compilers
// note where instructions end; after a call that is the last one of an inlined method, which the
// release of its monitor is, comes code of its caller.
static bool walk(below_job *job, uintptr_t to, const uintptr_t *sp, uintptr_t fp)
{
    // A thread that joins it is woken when it has no frames any more.
    static const uint64_t thread_ends;
    const void *record;
    sonde_java_frame *frames = (sonde_java_frame *)job->to->scratch;
    sonde_java_trace trace = {sonde_vm_thread(&record), 0, frames};
    ucontext_t context;
    memset(&context, 0, sizeof context);
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)(to - 1);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
    if (trace.env && !atomic_load_explicit(&sonde_vm.ended, memory_order_relaxed))
        sonde_vm.call_trace(&trace, MAX_FRAMES, &context);
    uint64_t *out = sonde_stack(job->to);
    job->depth = 0;
    if (trace.count == THREAD_EXIT) {
        out[0] = sonde_describe_native(job->to, &thread_ends, NULL, "[end of the thread]")
                 << SONDE_INSTR_BITS;
        job->depth = out[0] != 0;
        return true;
    }
    sonde_id_cache_refresh(job->to);
    for (jint i = 0; i < trace.count; i++)
        if (!(out[i] = sonde_java_word(job->to, &frames[i])))
            return true;
    job->depth = trace.count < 0 ? 0 : (uint32_t)trace.count;
    return job->depth;
}

// Code of C1's calls a stub out of line, for which other methods may be noted than those it is a
// part of, and then jumps back to right behind the instruction that it replaces.
static uintptr_t after_jump(uintptr_t pc)
{
    const uint8_t *code = (const uint8_t *)pc;
    int32_t far;
    memcpy(&far, code + 1, sizeof far);
    if (code[0] == 0xe9)
        return pc + 5 + (uintptr_t)(intptr_t)far;
    return code[0] == 0xeb ? pc + 2 + (uintptr_t)(intptr_t)(int8_t)code[1] : pc;
}

static bool is_frame(const uintptr_t *frame, uintptr_t next)
{
    return next - (uintptr_t)frame - 1 < MAX_VM_FRAME_SIZE && !(next & 7);
}

// A routine with a frame of its own, which compiled code calls.
static bool is_stub(uintptr_t pc)
{
    sonde_blob blob;
    return !sonde_is_interpreter(pc) && sonde_blob_at(pc, &blob) && !blob.is_method;
}

static void below_body(void *arg)
{
    below_job *job = arg;
    const uintptr_t *frame = job->frame;
    const void *record;
    for (int i = 0; i < MAX_VM_FRAMES; i++) {
        uintptr_t caller = frame[1], next = frame[0];
        if (!sonde_is_vm_code(caller)) {
            const uintptr_t *stub = (const uintptr_t *)next;
            if (is_stub(caller) && is_frame(frame, next) &&
                walk(job, after_jump(stub[1]), stub + 2, stub[0]))
                return;
            if (walk(job, caller, frame + 2, next))
                return;
            sonde_vm_thread(&record);
            if (sonde_vm_make_walkable(record, (uintptr_t)job->frame)) {
                walk(job, caller, frame + 2, next);
                sonde_vm_leave_unwalkable(record);
            }
            return;
        }
        if (!is_frame(frame, next))
            break;
        frame = (const uintptr_t *)next;
    }
}

uint32_t sonde_stack_below(sonde_thread *to, const void *frame, sonde_event *event)
{
    below_job job = {to, frame, 0};
    if (!sonde_guard_run_unchecked(below_body, &job))
        job.depth = 0;
    if (!job.depth)
        event->flags |= SONDE_UNDECODABLE;
    else if (job.depth == MAX_FRAMES)
        event->flags |= SONDE_TRUNCATED;
    return job.depth;
}
