#define _GNU_SOURCE
#include "cpython/walk/walk.h"

#include "core/base/hot.h"
#include "core/hooks/spans.h"
#include "core/session/caller_chain.h"
#include "core/session/stack_delta.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/c_callee.h"
#include "cpython/frames/code_objects.h"
#include "cpython/frames/frames.h"
#include "cpython/frames/thread_name.h"
#include "cpython/walk/cframe_entry.h"
#include "cpython/walk/sample_marks.h"
#include "cpython/walk/unlinked_frame.h"
#include "cpython/walk/walk_marks.h"

// More frames than any real stack has: a list this long is a loop made of garbage.
#define MAX_HOPS (1 << 20)
#define MAX_UNNAMED_WALKS 64

#if PY_VERSION_HEX < 0x030C0000
// Up to 3.11 the current thread state is process-wide: it belongs to the GIL holder. It is ours if
// its C frame lies on our stack. Its thread_id does not help: a sub-interpreter keeps the state it
// was created with, whichever thread runs it.
static bool runs_here(const PyThreadState *state, const ucontext_t *context)
{
    // Hooks walk without having been interrupted.
    uintptr_t sp = context ? sonde_context_sp(context) : (uintptr_t)__builtin_frame_address(0);
    uintptr_t cframe = (uintptr_t)state->cframe;
    // glibc puts a thread's control block, which pthread_self is, at the upper end of its stack.
    // The main thread's stack is above everything else.
    uintptr_t end = (uintptr_t)pthread_self();
    return cframe >= sp && (cframe < end || end < sp);
}
#endif

// Sub-interpreters switch states on one thread, and only this one follows.
PyThreadState *sonde_cpython_attached(const ucontext_t *context)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState *current = PyThreadState_GetUnchecked();
#else
    PyThreadState *current = _PyThreadState_UncheckedGet();
#endif
#if PY_VERSION_HEX < 0x030C0000
    if (current && !runs_here(current, context))
        current = NULL;
#else
    (void)context;
#endif
    return current;
}

PyThreadState *sonde_cpython_own_state(const ucontext_t *context)
{
    // Without the GIL the current state is unset; this one is remembered per thread.
    PyThreadState *current = sonde_cpython_attached(context);
    return current ? current : PyGILState_GetThisThreadState();
}

// False at a moment at which the frame is unknown.
static bool top_frame(PyThreadState *state, const ucontext_t *context, frame_t **top)
{
#if PY_VERSION_HEX >= 0x030D0000
    (void)context;
    *top = state->current_frame;
    return true;
#else
    const _PyCFrame *cframe = sonde_entry_cframe(state, context);
    *top = cframe ? cframe->current_frame : NULL;
    return cframe;
#endif
}

static uint32_t undecodable(sonde_event *event)
{
    event->flags = SONDE_UNDECODABLE;
    return 0;
}

// A frame may have a mark and the last stack not know of it: up to 3.12 one that was the innermost
// but one then, which could not be marked. Those below it may be met all the same. Each is searched
// for in the whole stack, so only few are.
#define MAX_STRANGE 2

// What is known of a code object besides its id: where its first instruction is that can be traced,
// and whether it is a function's.
#define ABOUT_BITS 8
#define IS_FUNCTION 0x80u
#define FIRST_MASK 0x7fu

// A code object of a frame that is whole and alive.
static uint64_t remember(sonde_thread *thread, PyCodeObject *code)
{
    uint64_t id = sonde_describe_code(thread, code), first = (uint64_t)code->_co_firsttraceable;
    bool is_function = code->co_flags & CO_OPTIMIZED;
    if (id && first <= FIRST_MASK)
        *sonde_id_cache_place(thread, code) = (sonde_id_cache_entry){
            code, id << ABOUT_BITS | (is_function ? IS_FUNCTION : 0) | first};
    return id;
}

SONDE_HOT uint64_t sonde_cpython_id(sonde_thread *thread, PyCodeObject *code)
{
    sonde_id_cache_refresh(thread);
    const sonde_id_cache_entry *known = sonde_id_cache_place(thread, code);
    return known->key == code ? known->about >> ABOUT_BITS : remember(thread, code);
}

// How deep a frame lies: bytes from the bottom of the thread's stack of frames, which is a list of
// chunks. Generators have their frames elsewhere; one lies where the next frame would.
typedef struct {
    const _PyStackChunk *chunk;
    uint64_t below; // bytes in the chunks before this one
    uint64_t depth; // of the last frame that was asked for
} depth_t;

static uint64_t depth_in(const depth_t *at, const void *address)
{
    return at->below + (uint64_t)((uintptr_t)address - (uintptr_t)at->chunk);
}

static depth_t depth_begin(const PyThreadState *state)
{
    depth_t at = {state->datastack_chunk, 0, 0};
    if (!at.chunk)
        return at;
    for (const _PyStackChunk *c = at.chunk->previous; c; c = c->previous)
        at.below += c->size;
    at.depth = depth_in(&at, state->datastack_top);
    return at;
}

static uint64_t depth_of(depth_t *at, const frame_t *f)
{
    if (f->owner != FRAME_OWNED_BY_THREAD)
        return at->depth;
    while (at->chunk && ((uintptr_t)f < (uintptr_t)at->chunk ||
                         (uintptr_t)f - (uintptr_t)at->chunk >= at->chunk->size)) {
        at->chunk = at->chunk->previous;
        if (at->chunk)
            at->below -= at->chunk->size;
    }
    if (at->chunk)
        at->depth = depth_in(at, f);
    return at->depth;
}

// What a walk that need not go on may still have to go on for.
static bool may_end(const sonde_thread *thread, const sonde_event *event)
{
    return thread->named && !(sonde_what() & SONDE_WHAT_CHECKED) &&
           (event->span || !atomic_load_explicit(&sonde_spans_open, memory_order_relaxed));
}

// Whose thread it is, as soon as that shows. A debugger's own functions run in a thread before it
// calls threading's function, for some samples; never in the main thread.
static void name_thread(sonde_thread *thread, const sonde_outer *outer)
{
    uint64_t object = sonde_thread_object(thread, outer);
    bool may_follow = object == 1 && thread->slot->tid != (uint32_t)getpid();
    if (may_follow && thread->unnamed_walks++ < MAX_UNNAMED_WALKS)
        return;
    thread->slot->thread_object = object;
    thread->named = true;
}

// Words `from` to `depth` of what was walked are to be the outermost `same` ones of the last stack.
static void check(sonde_thread *thread, uint32_t from, uint32_t depth, uint32_t same)
{
    bool right = depth - from == same;
    for (uint32_t i = 0; right && i < same; i++)
        right = sonde_stack(thread)[depth - 1 - i] == thread->last_stack[i];
    atomic_fetch_add(&sonde.header->walks_checked, 1);
    if (!right)
        atomic_fetch_add(&sonde.header->walks_wrong, 1);
}

// `own`: the frames are the calling thread's, whole and alive. Then a code object that is known is
// one still (its death is counted), and nothing of it needs to be looked at again: its memory is
// cold, and a deep stack would wait for each. The walk ends at the first frame that is the same
// activation as in the thread's last stack: what is below it has not moved.
static inline __attribute__((always_inline)) uint32_t walk(sonde_thread *thread,
                                                           PyThreadState *state, frame_t *f,
                                                           sonde_event *event, bool own,
                                                           bool chained)
{
    uint64_t *out = sonde_stack(thread);
    uint32_t depth = 0, reported = 0;
    depth_t depths = {0};
    if (chained) {
        event->flags |= SONDE_CHAINED;
        depths = depth_begin(state);
    }
    const bool traces = own && !chained;
    bool looks = !chained && sonde_walk_begins(thread) && own;
    uint32_t met = SONDE_NOWHERE, met_at = 0; // the word of the last stack, and of this one
    uint32_t strange = thread->detached + MAX_STRANGE; // marked ones that may not be met
    event->interpreter = (uint32_t)state->interp->id;
    // Was the frame above this one called by C code? Above the top frame there is nothing else.
    bool calls_c = !event->direct;
    bool whole = true; // does what was walked so far begin where C code entered the interpreter?
    sonde_outer outer = {0};
    PyCodeObject *code = NULL;
    bool marks_sample = traces && event->activations;
    sonde_sample_marks seen = SONDE_NO_SAMPLE_MARKS;
    // Also where this walk is none of those: they would find the marks of others in their places.
    activations_t activations = {.off = sonde_what() & SONDE_WHAT_ACTIVATIONS};
    if (own)
        sonde_id_cache_refresh(thread);
    for (int hops = 0; f; f = f->previous, hops++) {
        if (!may_be_address(f) || (unsigned char)f->owner > FRAME_OWNER_LAST || hops > MAX_HOPS)
            return undecodable(event);
        whole = frame_is_shim(f) || frame_is_entry(f);
        if (frame_is_shim(f)) {
            calls_c = true;
            activations_enter(&activations);
            if (marks_sample)
                sonde_sample_marks_entry(&seen, thread, f);
            continue;
        }
        Py_ssize_t index = -2, first;
        code = frame_code(f);
        const sonde_id_cache_entry *known = sonde_id_cache_place(thread, code);
        uint64_t id = own && known->key == code ? known->about >> ABOUT_BITS : 0;
        bool is_function = false;
        if (id) {
            first = (Py_ssize_t)(known->about & FIRST_MASK);
            is_function = known->about & IS_FUNCTION;
            index = frame_instr(f) - code_start(code);
        }
        if (index < -1 || index > (Py_ssize_t)SONDE_INSTR_MASK - 1) {
            if (!frame_decode(f, &code, &index))
                return undecodable(event);
            first = code->_co_firsttraceable;
            is_function = code->co_flags & CO_OPTIMIZED;
        }
        if (own && hops == 0 && !sonde_caller_is_set(state, f))
            return undecodable(event);
        if (!event->span)
            event->span = sonde_span_of(f, code);
        // Not begun: the frame is still being set up, or is a trampoline of the interpreter's own
        // (3.13's inlined __init__), which sys._getframe does not show either.
        if (index < first && f->owner != FRAME_OWNED_BY_GENERATOR) {
            activations_enter(&activations);
            continue;
        }
        outer = (sonde_outer){f, outer.root, code, outer.root_code};
        if (depth + (chained ? 4 : 2) > SONDE_MAX_DEPTH) {
            event->flags |= SONDE_TRUNCATED;
            break;
        }
        uint64_t frame_depth = chained ? depth_of(&depths, f) : 0;
        if (!id) {
            if (!(id = own ? remember(thread, code) : sonde_describe_code(thread, code)))
                return undecodable(event);
        }
        if (calls_c) {
            uint64_t native = sonde_callee(thread, f, code, id, index);
            if (native) {
                if (traces)
                    *sonde_walked_frame(thread, depth) = 0;
                out[depth++] = native;
                if (chained)
                    out[depth++] = frame_depth;
            }
        }
        calls_c = frame_is_entry(f);
        if (marks_sample)
            sonde_sample_marks_frame(&seen, thread, f, code, index, depth);
        if (traces) {
            uintptr_t marked = 0;
            if (activation_can_be_marked(&activations, f, code, is_function)) {
                if (!activation_is_marked(f)) {
                    marked = activation_mark(f);
                } else {
                    // A frame that is just being made may still have the mark of the one before it:
                    // on top only those that are past their first instruction are believed.
                    marked = SONDE_FRAME_MARKED;
                    bool begun = hops > 0 || index > first;
                    if (looks && begun) {
                        met = sonde_frame_find(thread, f);
                        met_at = depth;
                        looks = met == SONDE_NOWHERE && strange-- > 0;
                    }
                }
            }
            activations_pass(&activations, f, hops == 0);
            *sonde_walked_frame(thread, depth) = (uintptr_t)f | marked;
        }
        out[depth++] = id << SONDE_INSTR_BITS | ((uint64_t)(index + 1) & SONDE_INSTR_MASK);
        if (traces && met != SONDE_NOWHERE) {
            uint32_t since = depth - 1 - met_at; // words, while it had to go on
            if (since == 0 &&
                thread->last_stack[met] >> SONDE_INSTR_BITS != id) { // so it was no mark
                atomic_fetch_add(&sonde.header->walks_wrong, 1);
                met = SONDE_NOWHERE;
            } else if (since <= met && depth + met - since + 2 <= SONDE_MAX_DEPTH &&
                       may_end(thread, event) && (!marks_sample || seen.found)) {
                uint32_t same = met - since;
                if (marks_sample)
                    sonde_sample_marks_end(&seen, thread, depth + same, event);
                thread->slot->visited += depth;
                thread->slot->frames += depth + same;
                thread->walked = (sonde_walked){.traced = true, .words = depth, .same = same};
                return depth;
            }
        }
        if (chained) {
            out[depth++] = frame_depth;
            // The outermost frame has the thread's name.
            if (++reported > 1 && thread->named &&
                sonde_chain_is_known(out[depth - 2], frame_depth))
                return depth;
        }
    }
    // A generator that yields is cut off from its caller some instructions before the caller is the
    // current frame again (seen on 3.11 and 3.12): its own frames alone are a stack that never was.
#if PY_VERSION_HEX < 0x030C0000
    whole = whole && (!outer.root || outer.root->owner != FRAME_OWNED_BY_GENERATOR ||
                      outer.root->previous || state->cframe->previous == &state->root_cframe);
#endif
    const uint8_t cut = SONDE_UNDECODABLE | SONDE_TRUNCATED;
    if (!whole && !(event->flags & cut))
        return undecodable(event);
    if (chained && !(event->flags & cut))
        event->flags |= SONDE_ROOT;
    if (marks_sample)
        sonde_sample_marks_end(&seen, thread, depth, event);
    if (outer.root && !(event->flags & cut)) {
        if (event->tid)
            event->thread_object = sonde_thread_object(thread, &outer);
        else if (!thread->named)
            name_thread(thread, &outer);
    }
    if (traces && !(event->flags & cut)) {
        bool checked = met != SONDE_NOWHERE && (sonde_what() & SONDE_WHAT_CHECKED);
        if (checked)
            check(thread, met_at + 1, depth, met);
        thread->slot->visited += checked ? met_at + 1 : depth;
        thread->slot->frames += depth;
        thread->walked = (sonde_walked){.traced = true, .words = depth};
    }
    return depth;
}

SONDE_HOT uint32_t sonde_cpython_walk(sonde_thread *thread, const ucontext_t *context,
                                      sonde_event *event)
{
    PyThreadState *state = sonde_cpython_own_state(context);
    // Of C code that no Python code has called.
    uint32_t of_thread = sonde_span_of(sonde_span_thread(thread->slot->tid), NULL), depth = 0;
    frame_t *top;
    if (!state) // a thread Python does not know: it has time, but no frames
        ;
    else if (!top_frame(state, context, &top))
        depth = undecodable(event);
    else
        depth = event->chained ? walk(thread, state, top, event, true, true)
                               : walk(thread, state, top, event, true, false);
    if (!event->span)
        event->span = of_thread;
    return depth;
}

typedef struct {
    sonde_thread *thread;
    sonde_event *event;
    uint32_t depth;
} walk_job;

SONDE_HOT static void walk_body(void *arg)
{
    walk_job *job = arg;
    job->depth = sonde_cpython_walk(job->thread, NULL, job->event);
}

SONDE_HOT uint32_t sonde_cpython_walk_guarded(sonde_thread *thread, sonde_event *event)
{
    walk_job job = {thread, event, 0};
    return sonde_guard_run_unchecked(walk_body, &job) ? job.depth : undecodable(event);
}

uint32_t sonde_cpython_walk_thread(sonde_thread *thread, PyThreadState *state, sonde_event *event)
{
    frame_t *top;
    return top_frame(state, NULL, &top) ? walk(thread, state, top, event, false, false)
                                        : undecodable(event);
}

SONDE_HOT frame_t *sonde_cpython_top(PyThreadState *state)
{
    frame_t *top;
    return top_frame(state, NULL, &top) ? top : NULL;
}
