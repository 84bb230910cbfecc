#define _GNU_SOURCE
#include "hotspot/instrument/call_counter.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/sampling/call_windows.h"
#include "core/session/session.h"
#include "hotspot/instrument/counted_classes.h"
#include "hotspot/instrument/counting_methods.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/walk.h"

#include <errno.h>

// Whose window is under way: compiled code tests one word for all threads, so there is one at a
// time. Whoever sets this to nobody also clears the word.
static _Atomic(sonde_thread *) owner;
static _Atomic uint64_t owned_since; // by the processor's counter
static uint32_t armed;               // what `left` was set to; the owner's
static jvmtiEnv *counter_jvmti;

// As long as a window is open, calls of all threads take the rare branch. One that lasts longer,
// because its thread waits or is off CPU, is ended by the next thread that notices.
#define MAX_OTHERS_TSC 5000000u // some 2 ms

// In the warm-up the clock is read after 1, 2, 4 calls, and so on up to this.
#define MAX_UNTIMED 64u

// What a call takes that the compiled code skips, and one that comes to us, apart from our own
// time.
static struct {
    double skipped, seen;
} cost;

static void set_left(uint32_t calls)
{
    armed = calls;
    atomic_store_explicit(&sonde_counting.left, (int32_t)calls, memory_order_relaxed);
}

static bool disown(sonde_thread *thread)
{
    if (!atomic_compare_exchange_strong(&owner, &thread, NULL))
        return false;
    atomic_store(&sonde_counting.open, 0);
    return true;
}

// ---- one call

enum { ENDED = -1, NOT_OURS = 0, GOES_ON = 1 };
// The innermost frames are seen(), passed() and count().
#define OWN_FRAMES 3u

static bool take(sonde_thread *thread, uint64_t tsc)
{
    sonde_event event = {0};
    sonde_hotspot_identify(thread);
    uint32_t depth = sonde_stack_of(thread, counter_jvmti, NULL, &event);
    if (depth > OWN_FRAMES) {
        depth -= OWN_FRAMES;
        memmove(sonde_stack(thread), sonde_stack(thread) + OWN_FRAMES,
                depth * sizeof *sonde_stack(thread));
    } else {
        depth = 0;
        event.flags |= SONDE_UNDECODABLE;
    }
    return sonde_window_take(thread, depth, &event, tsc);
}

// The walk of a counted call evicts what the next calls need: where they are dense, that is most of
// the time they take. So the second half of the warm-up shows how long they take without.
#define PACED_TSC 25000u
#define MIN_PACED 64u // calls in it

static struct { // of the owner's window
    uint64_t since, own;
    uint32_t calls, checks;
} pace;

static void look_at_pace(const sonde_window *window, uint64_t tsc, uint32_t calls)
{
    if (pace.since) {
        pace.calls += calls;
        pace.checks++;
    } else if (window->warm_tsc < tsc + PACED_TSC) {
        pace.since = tsc;
    }
}

static void note_own(uint64_t tsc)
{
    if (pace.since)
        pace.own += __rdtsc() - tsc;
}

// Of each call, what is left of the time between them.
#define MIN_CALL_TSC 1.0

static void use_pace(sonde_window *window, uint64_t tsc)
{
    if (!pace.since || pace.calls < MIN_PACED)
        return;
    double took = (double)(tsc - pace.since - pace.own) - cost.seen * pace.checks;
    double each = took / pace.calls - cost.skipped;
    sonde_window_pace(window, each > MIN_CALL_TSC ? each : MIN_CALL_TSC);
}

static void begin(sonde_thread *thread, uint64_t tsc)
{
    sonde_window *window = &thread->window;
    sonde_window_begins(window, tsc);
    sonde_window_add_overhead_since(window, tsc);
    sonde_window_warm_up(window);
    memset(&pace, 0, sizeof pace);
    set_left(1);
}

// The warm-up ends at the first call that is seen after it. Where calls are dense that is late by
// some of them, which do not count: the window begins there.
static bool is_warm(sonde_window *window, uint64_t tsc, uint32_t calls)
{
    if (!window->warm_tsc)
        return true;
    uint64_t over = window->warm_tsc;
    look_at_pace(window, tsc, calls);
    if (!sonde_window_is_warm(window, tsc, calls - 1)) {
        set_left(2 * armed < MAX_UNTIMED ? 2 * armed : MAX_UNTIMED);
        note_own(tsc);
        return false;
    }
    use_pace(window, tsc);
    if (calls > 1 && tsc > over)
        window->cold_tsc += tsc - over;
    return true;
}

// Of the thread whose window is open; `calls` were made since the last that was seen, with this.
static jint on_own_call(sonde_thread *thread, uint64_t tsc, uint32_t calls)
{
    sonde_window *window = &thread->window;
    if (!window->begun) {
        begin(thread, tsc);
        return GOES_ON;
    }
    if (!is_warm(window, tsc, calls))
        return GOES_ON;
    window->reporting_tsc += (int64_t)(cost.skipped * (calls - 1) + cost.seen);
    window->min_tsc += calls;
    window->made += calls;
    if (calls < window->skip) {
        window->skip -= calls;
        sonde_window_add_overhead_since(window, tsc);
    } else if (take(thread, tsc)) {
        disown(thread);
        return ENDED;
    }
    set_left(window->skip);
    return GOES_ON;
}

static void end_overdue(sonde_thread *who, uint64_t tsc)
{
    if (who && tsc - atomic_load(&owned_since) > MAX_OTHERS_TSC && disown(who))
        sonde_window_cut_by_another(who);
}

// Of a window that is the owner's no more: another thread ended it.
static void leave(sonde_thread *thread)
{
    if (thread->window.open && atomic_load(&thread->window.cut))
        sonde_window_cut(thread);
    thread->window.open = false;
}

static jint on_call(sonde_thread *thread, uint64_t tsc)
{
    sonde_thread *who = atomic_load(&owner);
    if (who != thread) {
        leave(thread);
        end_overdue(who, tsc);
        return NOT_OURS;
    }
    if (!thread->window.open || !(sonde_what() & SONDE_WHAT_CALLS)) {
        if (thread->window.open)
            sonde_window_cut(thread);
        disown(thread);
        return ENDED;
    }
    int32_t left = atomic_load_explicit(&sonde_counting.left, memory_order_relaxed);
    // Above 0: this call was not subtracted, another virtual thread makes it.
    uint32_t passed = left > 0 && (uint32_t)left <= armed ? armed - (uint32_t)left + 1 : armed;
    return on_own_call(thread, tsc, passed ? passed : 1);
}

static _Thread_local bool training __attribute__((tls_model("initial-exec")));
static uint64_t trained_own; // our own part of what is measured

static jint JNICALL on_seen(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    uint64_t tsc = __rdtsc();
    if (training) {
        atomic_store_explicit(&sonde_counting.left, (int32_t)armed, memory_order_relaxed);
        trained_own += __rdtsc() - tsc;
        return GOES_ON;
    }
    int saved = errno;
    jint result = NOT_OURS;
    sonde_thread *thread = sonde_enter();
    if (thread) {
        result = on_call(thread, tsc);
        sonde_leave(thread);
    }
    errno = saved;
    return result;
}

void sonde_call_counter_set_natives(sonde_call_natives *natives) { natives->seen = on_seen; }

// ---- the beginning of a window

// A thread of the VM's own makes no calls.
SONDE_HOT static bool runs_java(void)
{
    const void *record;
    if (!sonde_vm_thread(&record) || atomic_load_explicit(&sonde_vm.ended, memory_order_relaxed))
        return false;
    if (sonde_vm_state(record) == SONDE_IN_JAVA)
        return true;
    const sonde_vm_anchor *anchor = sonde_vm_anchor_of(record);
    return anchor && anchor->sp;
}

// In the handler of a tick.
SONDE_HOT static void open_window(sonde_thread *thread, const ucontext_t *context)
{
    (void)context;
    if (!runs_java())
        return;
    sonde_window *window = &thread->window;
    sonde_thread *who = atomic_load(&owner), *nobody = NULL;
    if (who == thread && window->open && !window->begun) {
        thread->slot->missed++; // its first call is still to come
        return;
    }
    if (who == thread) {
        if (window->open)
            sonde_window_cut(thread);
        disown(thread);
    } else {
        leave(thread);
        end_overdue(who, __rdtsc());
    }
    if (!atomic_compare_exchange_strong(&owner, &nobody, thread)) {
        thread->slot->missed++;
        return;
    }
    atomic_store(&owned_since, __rdtsc());
    sonde_window_open(thread, false);
    set_left(0);
    atomic_store(&sonde_counting.open, 1);
}

// ---- what counting takes

// Rounds of a run, and how long runs go on at most: the compilers need some time.
#define ROUNDS 500
#define RUNS 600
#define TRAINING_NS 150000000u
#define MANY_CALLS (1 << 30)

static double run(JNIEnv *env, jclass class, jmethodID train, bool open, uint32_t left)
{
    armed = left;
    atomic_store(&sonde_counting.left, (int32_t)left);
    atomic_store(&sonde_counting.open, open);
    trained_own = 0;
    uint64_t began = __rdtsc();
    (*env)->CallStaticVoidMethod(env, class, train, (jint)ROUNDS);
    uint64_t took = __rdtsc() - began - trained_own;
    atomic_store(&sonde_counting.open, 0);
    return (double)took / (ROUNDS * SONDE_TRAINING_COUNTS_CALLS);
}

static void lower(double *least, double value)
{
    if (value < *least)
        *least = value;
}

// The methods of the program do the same later on: by then these are compiled, with both branches.
static bool train_counting(JNIEnv *env)
{
    jclass class = (*env)->FindClass(env, SONDE_CALL_CLASS);
    jmethodID train =
        class ? (*env)->GetStaticMethodID(env, class, SONDE_TRAINING_COUNTS, "(I)V") : NULL;
    uint64_t began = sonde_now();
    double closed = 1e9, skipped = 1e9, seen = 1e9;
    training = true;
    for (int i = 0; i < RUNS && train && !(*env)->ExceptionCheck(env); i++) {
        lower(&closed, run(env, class, train, false, 1));
        if (i % 4 == 0)
            lower(&skipped, run(env, class, train, true, MANY_CALLS));
        if (i % 16 == 0)
            lower(&seen, run(env, class, train, true, 1));
        if (sonde_now() - began > TRAINING_NS)
            break;
    }
    training = false;
    bool done = train && !(*env)->ExceptionCheck(env);
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, class);
    cost.skipped = skipped > closed ? skipped - closed : 0;
    cost.seen = seen > closed ? seen - closed : 0;
    return done;
}

// ---- beginning and end

static void forget_thread(JNIEnv *env)
{
    jclass class = (*env)->FindClass(env, SONDE_CALL_CLASS);
    jfieldID field = class ? (*env)->GetStaticFieldID(env, class, SONDE_COUNTED_THREAD_NAME,
                                                      SONDE_COUNTED_THREAD_TYPE)
                           : NULL;
    (*env)->ExceptionClear(env);
    if (field)
        (*env)->SetStaticObjectField(env, class, field, NULL);
    (*env)->DeleteLocalRef(env, class);
}

bool sonde_call_counter_wanted(void) { return sonde.config.what & SONDE_WHAT_CALLS; }

bool sonde_call_counter_prepare(JNIEnv *env, jvmtiEnv *jvmti, bool possible)
{
    sonde_header *header = sonde.header;
    atomic_store(&owner, NULL);
    if (!possible || !train_counting(env)) {
        atomic_store(&header->calls, SONDE_CALLS_NOT_INSERTED);
        return false;
    }
    forget_thread(env);
    counter_jvmti = jvmti;
    sonde_counted_classes_set(env, header->calls_within, header->calls_within_length);
    return true;
}

void sonde_call_counter_started(bool started)
{
    atomic_store(&sonde.header->calls, started ? SONDE_CALLS_COUNTED : SONDE_CALLS_NOT_INSERTED);
    if (started)
        sonde_windows_set_opener(open_window);
}

void sonde_call_counter_stop(void)
{
    sonde_windows_set_opener(NULL);
    atomic_store(&owner, NULL);
    atomic_store(&sonde_counting.open, 0);
}

void sonde_call_counter_forget(JNIEnv *env)
{
    forget_thread(env);
    sonde_counted_classes_forget(env);
}
