#define _GNU_SOURCE
#include "hotspot/walk/incremental_walk.h"

#include "core/base/hot.h"
#include "core/session/stack_delta.h"
#include "core/signals/fault_guard.h"
#include "hotspot/walk/java_word.h"

// What only we know of a thread: of each word of the last stack that is a frame's innermost one,
// the check of that frame; and the slot through which the outermost returns to the VM.
#define MAX_WORDS (SONDE_MAX_DEPTH - 2)
typedef struct {
    uint64_t checks[SONDE_MAX_DEPTH - 2];
    uintptr_t outermost;
    uint64_t when;
} kept_t;
_Static_assert(sizeof(kept_t) <= sizeof((sonde_thread *)0)->unmarked, "lies there");

static kept_t *kept_of(sonde_thread *thread) { return (kept_t *)thread->unmarked; }

SONDE_HOT SONDE_FOREIGN static bool returns_to_vm(const uintptr_t *slot)
{
    return sonde_is_entry(slot[0]) && sonde_is_first_entry(slot[-1]);
}

// Is the frame at this word of the last stack there still, and all below it? Else the outermost
// word to which that is not known.
SONDE_HOT static bool is_unmoved(sonde_thread *thread, uint32_t word, uint32_t *moved)
{
    const kept_t *kept = kept_of(thread);
    for (uint32_t i = word + 1; i-- > 0;) {
        const uintptr_t *slot = (const uintptr_t *)*sonde_last_frame(thread, i);
        *moved = i;
        if (slot && sonde_frame_check(slot) != kept->checks[i])
            return false;
    }
    return returns_to_vm((const uintptr_t *)kept->outermost);
}

// Below a frame that returns where that one did there may lie another, if it is not as large as
// that: arguments that the interpreter was called with count as a part of it. What is left of the
// old one in between proves nothing.
SONDE_HOT static bool leads_on(sonde_thread *thread, uint32_t word,
                               const sonde_machine_frame *frame)
{
    sonde_machine_frame caller;
    uintptr_t slot = 0;
    while (word && !slot)
        slot = *sonde_last_frame(thread, --word);
    return sonde_frame_caller(frame, &caller) &&
           (uintptr_t)caller.slot == (slot ? slot : kept_of(thread)->outermost);
}

typedef struct {
    sonde_retraced *of;
    uint32_t cursor; // words of the last stack that may still be met
} retrace_t;

// Is it a frame that the last stack had?
SONDE_HOT static bool was_there(retrace_t *job, const sonde_machine_frame *frame)
{
    sonde_thread *thread = job->of->thread;
    while (job->cursor) {
        uint32_t word = job->cursor - 1;
        uintptr_t slot = *sonde_last_frame(thread, word);
        if (slot > (uintptr_t)frame->slot)
            return false;
        if (slot == (uintptr_t)frame->slot) {
            uint32_t moved = word;
            if (leads_on(thread, word, frame) && is_unmoved(thread, word, &moved))
                return true;
            job->cursor = moved;
            return false;
        }
        job->cursor--;
    }
    return false;
}

SONDE_HOT static void add_frame(sonde_retraced *of, const sonde_machine_frame *frame)
{
    uint64_t words[SONDE_MAX_INLINED];
    unsigned count = 1;
    bool known = false;
    if (frame->kind == SONDE_COMPILED_FRAME) {
        sonde_code_place place = {frame->at.pc, frame->blob.number, frame->slot};
        count = sonde_inline_cache_find(&place, words);
        known = count <= SONDE_MAX_INLINED;
        if (!count) {
            of->unknowns++;
            of->unknown = place;
            of->unknown_at = frame->at;
            // The walker looks up the instruction after the one where it begins.
            of->unknown_at.pc -= frame->slot ? 1 : 0;
            of->inside = of->depth - of->above;
            return;
        }
    }
    if (of->depth + count > MAX_WORDS) {
        of->unknowns = 0;
        of->depth = MAX_WORDS;
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        sonde_stack(of->thread)[of->depth + i] = known ? words[i] : 0;
        *sonde_walked_frame(of->thread, of->depth + i) = i ? 0 : (uintptr_t)frame->slot;
    }
    of->depth += count;
    of->missing += known ? 0 : count;
}

SONDE_HOT SONDE_FOREIGN static void retrace_body(void *arg)
{
    retrace_t *job = arg;
    sonde_retraced *of = job->of;
    sonde_machine_frame frame, caller;
    sonde_frame_at(&of->start, &frame);
    if (frame.kind != SONDE_COMPILED_FRAME)
        return;
    for (;; frame = caller) {
        add_frame(of, &frame);
        of->frames++;
        if (of->depth == MAX_WORDS || of->frames == MAX_WORDS ||
            !sonde_frame_caller(&frame, &caller) || caller.kind == SONDE_OTHER_FRAME)
            return;
        if (caller.kind == SONDE_ENTRY_FRAME) {
            of->whole = sonde_is_first_entry(caller.at.fp);
            kept_of(of->thread)->outermost = (uintptr_t)caller.slot;
            return;
        }
        if (of->looks && was_there(job, &caller)) {
            // With what is new above them they may be more than fit: then the outermost are left
            // out, and those that stay are none that can be referred to.
            of->whole = of->depth + job->cursor <= MAX_WORDS;
            of->same = job->cursor;
            return;
        }
    }
}

// Code that is not on any stack may be freed, and other code that returns to the same address come
// to be there; which takes the VM some collections. What is known of code distinguishes the two,
// but what is known of frames does not.
#define KEPT_NS 1000000000u

SONDE_HOT sonde_retrace_result sonde_retrace(sonde_retraced *of)
{
    of->looks = of->looks && of->now - kept_of(of->thread)->when < KEPT_NS;
    retrace_t job = {of, of->looks ? of->thread->depth : 0};
    of->depth = of->above;
    of->same = of->frames = of->missing = of->unknowns = 0;
    of->whole = false;
    for (uint32_t i = 0; i < of->above; i++)
        *sonde_walked_frame(of->thread, i) = 0;
    // The outermost slot is written only where nothing of the last stack is left to be met.
    if (!sonde_guard_run_unchecked(retrace_body, &job) || !of->whole)
        return SONDE_RETRACE_NOT;
    if (of->unknowns) {
        of->outside = of->depth - of->above - of->inside + of->same;
        return SONDE_RETRACE_LEARN;
    }
    return of->missing ? SONDE_RETRACE_WORDS : SONDE_RETRACED;
}

// Does the walker's stack agree with what is known, inside and outside of the unknown frame?
static bool fits(const sonde_retraced *of, const sonde_java_trace *trace, uint32_t inside)
{
    const uint64_t *own = sonde_stack(of->thread);
    uint32_t fresh = of->outside - of->same, all = (uint32_t)trace->count;
    for (uint32_t i = 0; i < inside + of->outside; i++) {
        uint32_t out = i - inside, at = i < inside ? i : all - of->outside + out;
        uint64_t known = i < inside    ? own[of->above + i]
                         : out < fresh ? own[of->depth - fresh + out]
                                       : of->thread->last_stack[of->outside - 1 - out];
        if (known && known != sonde_java_word(of->thread, &trace->frames[at]))
            return false;
    }
    return true;
}

bool sonde_retrace_learn(const sonde_retraced *of, const sonde_java_trace *trace)
{
    uint32_t all = (uint32_t)trace->count, inside = of->unknowns > 1 ? 0 : of->inside;
    if (trace->count <= 0 || all >= MAX_WORDS || all <= inside + of->outside ||
        !fits(of, trace, inside))
        return false;
    uint64_t words[SONDE_MAX_INLINED];
    uint32_t count = all - inside - of->outside;
    for (uint32_t i = 0; i < count; i++) {
        const sonde_java_frame *frame = &trace->frames[inside + i];
        uint64_t word = sonde_java_word(of->thread, frame);
        if (!frame->method || !word) // it will have another word later
            return false;
        if (i < SONDE_MAX_INLINED)
            words[i] = word;
    }
    sonde_inline_cache_add(&of->unknown, words, count);
    return true;
}

SONDE_HOT void sonde_retrace_keep(const sonde_retraced *of)
{
    sonde_thread *thread = of->thread;
    kept_t *kept = kept_of(thread);
    uint32_t whole = of->same + of->depth;
    kept->when = of->now;
    for (uint32_t i = of->above; i < of->depth; i++) {
        const uintptr_t *slot = (const uintptr_t *)*sonde_walked_frame(thread, i);
        if (slot)
            kept->checks[whole - 1 - i] = sonde_frame_check(slot);
    }
    thread->walked = (sonde_walked){.traced = true, .words = of->depth, .same = of->same};
    thread->slot->visited += of->frames;
    thread->slot->frames += whole;
}

SONDE_HOT uint64_t sonde_retraced_word(const sonde_retraced *of, uint32_t word)
{
    return word < of->same ? of->thread->last_stack[word]
                           : sonde_stack(of->thread)[of->depth - 1 - (word - of->same)];
}

SONDE_HOT uintptr_t sonde_retraced_slot(const sonde_retraced *of, uint32_t word)
{
    return word < of->same ? *sonde_last_frame(of->thread, word)
                           : *sonde_walked_frame(of->thread, of->depth - 1 - (word - of->same));
}

uintptr_t sonde_retraced_outermost(const sonde_retraced *of)
{
    return kept_of(of->thread)->outermost;
}
