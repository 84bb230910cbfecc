#define _GNU_SOURCE
#include "cpython/calls/call_counter.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/sampling/call_windows.h"
#include "core/session/records.h"
#include "cpython/calls/call_accounting.h"
#include "cpython/calls/call_cost.h"
#include "cpython/calls/call_events.h"
#include "cpython/calls/frame_evaluator.h"
#include "cpython/calls/pending_calls.h"
#include "cpython/calls/reported_calls.h"
#include "cpython/calls/tool_hooks.h"
#include "cpython/calls/tools.h"
#include "cpython/frames/c_callee.h"
#include "cpython/frames/code_objects.h"
#include "cpython/walk/walk.h"

#include <string.h>

static PyInterpreterState *_Atomic home; // whose calls are counted, NULL: none's
// Whose functions that change tools are hooked: also after the session, as long as there are calls
// whose returns must be hidden.
static PyInterpreterState *hooked;

// Whose window is under way. The evaluator is one for all threads of an interpreter, and so are the
// events of sys.monitoring: another thread that gets one ends the window, because its owner has
// lost the GIL.
static _Atomic(sonde_thread *) owner;

// The program calls a function that may turn one of its tools on: until that has returned no window
// may open.
static _Atomic uint32_t tools_changing;

static bool cost_is_known;
static uint64_t next_measuring; // not before then
#define MEASURING_AGAIN_NS 1000000000u

static void refuse(uint32_t why) { atomic_store(&sonde.header->calls, why); }

// ---- one call

// What is called has no frame: it is put where one would be. The walk may have found it on the
// value stack already.
SONDE_HOT static uint32_t add_callee(sonde_thread *thread, uint32_t depth, uint64_t word,
                                     sonde_event *event)
{
    uint64_t *stack = sonde_stack(thread);
    if (!word) {
        event->flags |= SONDE_UNDECODABLE;
        return 0;
    }
    if (depth && stack[0] == word)
        return depth;
    if (depth == SONDE_MAX_DEPTH)
        depth--;
    memmove(stack + 1, stack, depth * sizeof *stack);
    stack[0] = word;
    return depth + 1;
}

SONDE_HOT static uint64_t word_of(sonde_thread *thread, const sonde_call_event *call)
{
    if (call->callable)
        return sonde_native_word(thread, call->callable);
    uint64_t id = sonde_cpython_id(thread, (PyCodeObject *)call->begins);
    uint64_t index = (uint64_t)call->begins->_co_firsttraceable;
    return id ? id << SONDE_INSTR_BITS | ((index + 1) & SONDE_INSTR_MASK) : 0;
}

SONDE_HOT static bool take(sonde_thread *thread, const sonde_call_event *call)
{
    sonde_event event = {.direct = call->direct};
    uint32_t depth = sonde_cpython_walk_guarded(thread, &event);
    if ((call->callable || call->by_evaluator) && !(event.flags & SONDE_UNDECODABLE))
        depth = add_callee(thread, depth, word_of(thread, call), &event);
    return sonde_window_take(thread, depth, &event, call->tsc);
}

// ---- the end of a window

// The owner's window cannot continue; `thread` noticed it, the owner itself or another one.
static void cut_owners(sonde_thread *thread)
{
    sonde_thread *who = atomic_load(&owner);
    if (who == thread && thread->window.open) {
        sonde_window_cut(thread);
    } else if (who && who != thread) {
        sonde_window_cut_by_another(who); // it has lost the GIL
    }
    atomic_store(&owner, NULL);
}

SONDE_HOT static void stop_seeing(PyThreadState *state, sonde_call_scope how)
{
    if (sonde_call_events_by_evaluator(how)) { // which takes no time
        sonde_call_events_end(state, how);
        return;
    }
    uint64_t began = sonde_now();
    sonde_call_events_end(state, how);
    sonde_thread *thread = sonde_enter();
    if (!thread)
        return;
    thread->slot->agent_ns += sonde_now() - began;
    sonde_leave(thread);
}

static bool is_under_way(const sonde_thread *thread, bool owned)
{
    const sonde_window *window = &thread->window;
    return window->open && window->begun && (!owned || atomic_load(&owner) == thread) &&
           (sonde_what() & SONDE_WHAT_CALLS);
}

// A call of ours, made to measure what reporting takes: the same as for one of the program's, by a
// thread that has no slot to be busy in.
static void as_if_seen(const sonde_call_event *call)
{
    static _Atomic uint32_t mark;
    if (!atomic_load(&mark))
        atomic_store(&mark, 1);
    uint64_t spent = sonde_accounts_spent(call);
    sonde_accounts_reporting(call);
    sonde_call_cost_measured += spent + __rdtsc() - call->tsc;
    atomic_store(&mark, 0);
}

SONDE_HOT static void on_call(PyThreadState *state, const sonde_call_event *call)
{
    bool goes_on = false;
    if (sonde_call_cost_measuring) {
        as_if_seen(call);
        sonde_call_events_skip(state,
                               sonde_call_cost_measuring == SONDE_COST_OVER ? UINT32_MAX : 0);
        return;
    }
    sonde_thread *thread = sonde_enter();
    bool of_all_threads = sonde_call_event_is_of_all_threads(call);
    if (!thread) { // no session any more, or a thread that is none of the target's
        if (of_all_threads)
            atomic_store(&owner, NULL);
    } else if (!is_under_way(thread, of_all_threads)) {
        if (of_all_threads)
            cut_owners(thread);
        else if (thread->window.open)
            sonde_window_cut(thread);
    } else if (!sonde_window_is_warm(&thread->window, call->tsc, sonde_call_events_skipped())) {
        sonde_accounts_forget(call);
        if (call->by_evaluator)
            sonde_call_events_skip_until(state, thread->window.warm_tsc);
        goes_on = true;
    } else {
        sonde_accounts_charge(&thread->window, call);
        if (sonde_tool_active(state) >= 0) { // C code has turned it on
            sonde_window_cut(thread);
        } else if (!sonde_window_counts(&thread->window)) {
            sonde_window_add_overhead_since(&thread->window, call->tsc);
            goes_on = true;
        } else {
            goes_on = !take(thread, call);
        }
        if (call->by_evaluator && goes_on)
            sonde_call_events_skip(state, thread->window.skip - 1);
        if (!goes_on && of_all_threads)
            atomic_store(&owner, NULL);
    }
    if (thread)
        sonde_leave(thread);
    if (!goes_on)
        stop_seeing(state, call->by_evaluator ? SONDE_SEE_FRAMES : SONDE_SEE_ALL);
}

// ---- the beginning of one

SONDE_HOT static bool may_begin(const PyThreadState *state, sonde_call_scope *how)
{
    sonde_thread *thread = sonde_enter();
    if (!thread) {
        atomic_store(&owner, NULL);
        return false;
    }
    *how = thread->window.all ? SONDE_SEE_ALL : SONDE_SEE_FRAMES;
    bool ours = atomic_load(&owner) == thread && thread->window.open &&
                (sonde_what() & SONDE_WHAT_CALLS) && !interpreter_is_finalizing();
    int active = ours ? sonde_tool_active(state) : -1;
    if (active >= 0) {
        sonde_window_withheld(active);
        ours = false;
    }
    if (!ours)
        cut_owners(thread);
    sonde_leave(thread);
    return ours;
}

// The evaluator may be another one by now: then it stays.
static void give_up_window(int why)
{
    sonde_thread *thread = sonde_enter();
    if (!thread) {
        atomic_store(&owner, NULL);
        return;
    }
    if (why >= 0)
        sonde_window_withheld(why);
    cut_owners(thread);
    sonde_leave(thread);
}

static void know_cost(void)
{
    if (cost_is_known || sonde_call_cost_measuring || sonde_now() < next_measuring)
        return;
    cost_is_known = sonde_call_cost_measure();
    next_measuring = sonde_now() + MEASURING_AGAIN_NS;
}

SONDE_HOT static void begin_window(PyThreadState *state)
{
    uint64_t tsc = __rdtsc();
    sonde_call_scope how;
    if (!may_begin(state, &how))
        return;
    if (!cost_is_known) { // a tool was active when the session began, or became so
        know_cost();
        give_up_window(cost_is_known ? -1 : SONDE_WITHHELD_TRACED);
        return;
    }
    if (sonde_evaluator_of(state->interp)) {
        give_up_window(SONDE_WITHHELD_EVALUATED);
        return;
    }
    bool begun = sonde_call_events_begin(state, how);
    sonde_accounts_begin();
    sonde_thread *thread = sonde_enter();
    if (!thread)
        return;
    sonde_window_begins(&thread->window, tsc);
    sonde_window_add_overhead_since(&thread->window, tsc);
    sonde_window_warm_up(&thread->window);
    sonde_call_events_skip_until(state, thread->window.warm_tsc);
    if (!begun) {
        refuse(SONDE_CALLS_FAILED);
        cut_owners(thread);
    } else if (!CALLS_ARE_MONITORED && how == SONDE_SEE_ALL) {
        atomic_store(&owner, NULL);
    }
    sonde_leave(thread);
}

SONDE_HOT static PyObject *on_first_frame(PyThreadState *state, frame_t *frame, int throws)
{
    if (sonde_frame_may_call(state, throws)) {
        // Code that took us for the program's own evaluator may have put us back in place.
        sonde_evaluate_no_more(state->interp, on_first_frame);
        begin_window(state);
        // This frame is the window's first call. It is the one that a tick finds most often, for
        // the program makes it after the longest time without any.
        sonde_evaluator seeing = sonde_evaluator_of(state->interp);
        if (seeing && sonde_call_events_by(seeing))
            return seeing(state, frame, throws);
    }
    return _PyEval_EvalFrameDefault(state, frame, throws);
}

// In the handler of a tick.
SONDE_HOT static void open_window(sonde_thread *thread, const ucontext_t *context)
{
    PyThreadState *state = sonde_cpython_attached(context);
    PyInterpreterState *here = home;
    if (!state || state->interp != here)
        return;                      // it makes no calls, or none that are seen
    if (sonde_call_cost_measuring) { // by this thread, or by one that has lost the GIL
        thread->slot->missed++;
        return;
    }
    sonde_window *window = &thread->window;
    sonde_thread *who = atomic_load(&owner);
    if (window->open && who != thread && !sonde_reported_calls_go_on(state)) {
        // Another thread has ended it, or the program has. If it is unknown when, it does not
        // count.
        if (atomic_load(&window->cut))
            sonde_window_cut(thread);
        window->open = false;
    } else if (!window->open && who == thread) { // left by a thread that had this slot before
        atomic_store(&owner, NULL);
    }
    // Calls of Python functions may be rare where others are not: there are windows for both.
    if (window->open && who == thread && window->begun && !window->all) {
        sonde_window_cut(thread);
        atomic_store(&owner, NULL);
    }
    int active = sonde_tool_active(state);
    if (!window->open && (active >= 0 || atomic_load(&tools_changing))) {
        sonde_window_withheld(active >= 0 ? active : SONDE_WITHHELD_TRACED);
        return;
    }
    sonde_thread *nobody = NULL;
    if (window->open || !atomic_compare_exchange_strong(&owner, &nobody, thread)) {
        thread->slot->missed++;
        return;
    }
    sonde_evaluator evaluator = sonde_evaluator_of(here);
    if (evaluator && evaluator != on_first_frame && !sonde_call_events_by(evaluator)) {
        sonde_window_withheld(SONDE_WITHHELD_EVALUATED);
        atomic_store(&owner, NULL);
        return;
    }
    sonde_window_open(thread, sonde_window_shows_all(window));
    sonde_evaluate_by(here, on_first_frame);
}

// ---- the program's own tools

// Calls that began in a window and last may return into a tool that is turned on after the session.
static void leave_tools(PyThreadState *state)
{
    if (sonde_pending_count(state->interp))
        return;
    sonde_pending_show(state);
    sonde_tool_hooks_remove();
    hooked = NULL;
}

static void leave_evaluator(PyInterpreterState *interpreter)
{
    sonde_evaluator evaluator = sonde_evaluator_of(interpreter);
    if (evaluator == on_first_frame || sonde_call_events_by(evaluator))
        sonde_evaluate_no_more(interpreter, evaluator);
}

static void end_counting(PyThreadState *state)
{
    sonde_call_cost_abandon(state);
    leave_evaluator(state->interp);
    sonde_thread *thread = sonde_enter();
    if (!thread) {
        atomic_store(&owner, NULL);
    } else {
        bool open = thread->window.open;
        cut_owners(thread);
        if (open && thread->window.open)
            sonde_window_cut(thread);
        sonde_leave(thread);
    }
    sonde_call_events_end(state, SONDE_SEE_FRAMES);
    sonde_call_events_end(state, SONDE_SEE_ALL);
}

static bool tool_changes(PyThreadState *state)
{
    if (state->interp != hooked)
        return false;
    if (state->interp == home) {
        atomic_fetch_add(&tools_changing, 1);
        end_counting(state);
    }
    sonde_pending_show(state);
    return true;
}

static void tool_changed(PyThreadState *state)
{
    if (state->interp != hooked)
        return;
    sonde_pending_hide(state);
    if (state->interp != home) // the session is over
        leave_tools(state);
    else if (atomic_load(&tools_changing))
        atomic_fetch_sub(&tools_changing, 1);
}

static const sonde_tool_watch tool_watch = {tool_changes, tool_changed};

// ---- beginning and end

void sonde_calls_start(void)
{
    PyThreadState *state = PyThreadState_Get();
    PyInterpreterState *here = PyInterpreterState_Get();
    hooked = here;
    sonde_report_call = on_call;
    sonde_announce_call = sonde_accounts_announce;
    uint32_t prepared = sonde_tool_hooks_set(&tool_watch) ? sonde_reported_calls_prepare()
                                                          : (uint32_t)SONDE_CALLS_FAILED;
    refuse(prepared);
    if (prepared != SONDE_CALLS_COUNTED) {
        leave_tools(state);
        return;
    }
    cost_is_known = false;
    next_measuring = 0;
    atomic_store(&tools_changing, 0);
    atomic_store(&owner, NULL);
    home = here; // before anything is switched on: other threads may get the GIL in between
    if (sonde_tool_active(state) < 0 && !sonde_evaluator_of(here))
        know_cost();
    if (home == here) // still
        sonde_windows_set_opener(open_window);
}

void sonde_calls_stop(void)
{
    PyThreadState *state = PyThreadState_Get();
    PyInterpreterState *here = PyInterpreterState_Get();
    if (here != home)
        return;
    sonde_windows_set_opener(NULL);
    sonde_call_cost_abandon(state);
    leave_evaluator(here);
    sonde_call_events_end(state, SONDE_SEE_FRAMES);
    sonde_call_events_end(state, SONDE_SEE_ALL);
    sonde_reported_calls_forget();
    atomic_store(&owner, NULL);
    home = NULL;
    leave_tools(state);
}

// ---- forks

// In a child that is not recorded: at its first call.
static PyObject *on_frame_of_child(PyThreadState *state, frame_t *frame, int throws)
{
    if (sonde_frame_may_call(state, throws)) {
        sonde_evaluate_no_more(state->interp, on_frame_of_child);
        sonde_calls_stop();
    }
    return _PyEval_EvalFrameDefault(state, frame, throws);
}

void sonde_calls_forked(bool followed)
{
    PyInterpreterState *here = home;
    if (!here)
        return;
    // A window of the parent's that is under way here ends at its next call: no thread owns it.
    atomic_store(&owner, NULL);
    sonde_call_cost_forked();
    leave_evaluator(here);
    if (followed) {
        refuse(SONDE_CALLS_COUNTED);
        return;
    }
    sonde_windows_set_opener(NULL);
    if (!sonde_evaluator_of(here))
        sonde_evaluate_by(here, on_frame_of_child);
}
