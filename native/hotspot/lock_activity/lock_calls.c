#define _GNU_SOURCE
#include "hotspot/lock_activity/lock_calls.h"

#include "core/base/clock.h"
#include "core/hooks/acquisition_counts.h"
#include "core/session/records.h"
#include "hotspot/lock_activity/lock_holds.h"
#include "hotspot/lock_activity/lock_places.h"
#include "hotspot/lock_activity/lock_states.h"
#include "hotspot/locks/lock_events.h"
#include "hotspot/locks/thread_wait.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/names/types.h"
#include "hotspot/rewrite/class_filter.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/walk.h"

#include <errno.h>
#include <string.h>

typedef struct {
    uint64_t began; // 0: there is none
    uint64_t lock, type;
    jweak object;
    uint32_t kind;
    bool contended, recursive, reentrant;
} attempt_t;

// A platform thread's that is to be sampled, from before it is tried until it succeeded.
static _Thread_local attempt_t attempt __attribute__((tls_model("initial-exec")));

// ---- samples

// The innermost frame is the method that called us.
static uint32_t stack_of_caller(sonde_thread *me, sonde_event *stack)
{
    uint32_t depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, stack);
    if (!depth)
        return 0;
    memmove(sonde_stack(me), sonde_stack(me) + 1, (depth - 1) * sizeof *sonde_stack(me));
    return depth - 1;
}

static bool write_sample(const attempt_t *of, uint64_t id, uint64_t wait_ns, uint64_t spin_ns)
{
    uint64_t now = sonde_now(), counted = sonde_acquisition_take();
    sonde_thread *me = counted ? sonde_enter() : NULL;
    if (!me)
        return false;
    sonde_event stack = {0};
    sonde_hotspot_identify(me);
    uint32_t depth = stack_of_caller(me, &stack);
    int flags = (of->contended ? SONDE_ACQUIRED_CONTENDED : 0) |
                (of->recursive ? SONDE_ACQUIRED_RECURSIVE : 0) |
                (of->reentrant ? SONDE_ACQUIRED_REENTRANT : 0);
    sonde_rec_lock_sample sample = {
        .rec = {.state = (uint8_t)flags, .flags = stack.flags},
        .time = now,
        .lock = of->lock,
        .id = id,
        .wait_ns = wait_ns,
        .every = sonde_acquisitions_every(),
        .counted = counted < UINT32_MAX ? (uint32_t)counted : UINT32_MAX,
        .kind = (uint16_t)of->kind,
        .span = stack.span,
        .type = of->type,
        .spin_ns = spin_ns,
    };
    bool written = sonde_write_lock_sample(me, depth, &sample);
    sonde_acquisition_keep(written ? 0 : counted);
    sonde_leave(me);
    return written;
}

// Our own time is none of the hold's.
static void write_with_hold(JNIEnv *env, const attempt_t *of, jobject object, bool of_method,
                            uint64_t wait_ns, uint64_t spin_ns)
{
    uint64_t id = of->recursive || !object
                      ? 0
                      : sonde_lock_hold_begin(env, object, of_method, sonde_acquisitions_round);
    if (!write_sample(of, id, wait_ns, spin_ns) && id)
        sonde_lock_hold_forget(env, id);
    else if (id)
        sonde_lock_hold_set_since(id, sonde_now());
}

static void ended(uint64_t id, uint64_t since)
{
    uint64_t now = sonde_now();
    sonde_thread *me = now >= since ? sonde_enter() : NULL;
    if (!me)
        return;
    sonde_write_lock_hold_end(me, id, now - since);
    sonde_leave(me);
}

static uint64_t type_of(JNIEnv *env, jobject object)
{
    sonde_thread *me = object ? sonde_enter() : NULL;
    if (!me)
        return 0;
    jclass class = (*env)->GetObjectClass(env, object);
    uint64_t type = sonde_type_of(me, sonde_locks_jvmti, class);
    (*env)->DeleteLocalRef(env, class);
    sonde_leave(me);
    return type;
}

static attempt_t of_monitor(JNIEnv *env, jobject object, bool recursive)
{
    return (attempt_t){.lock = sonde_lock_of(object, 0),
                       .type = type_of(env, object),
                       .kind = SONDE_KIND_MONITOR,
                       .recursive = recursive,
                       .reentrant = true};
}

static attempt_t of_lock(JNIEnv *env, jobject object, jthread thread)
{
    sonde_lock_state state = sonde_lock_state_of(env, object, thread);
    jobject known = state.sync ? state.sync : object;
    attempt_t found = {.lock = sonde_lock_of(known, SONDE_IS_PARK),
                       .type = type_of(env, known),
                       .kind = SONDE_KIND_PARK,
                       .contended = state.taken && !state.mine,
                       .recursive = state.mine,
                       .reentrant = true};
    (*env)->DeleteLocalRef(env, state.sync);
    return found;
}

// ---- the calls

static bool is_sampled(void)
{
    return sonde_acquisition_is_due() && sonde_acquisition_is_sampled();
}

static void forget_attempt(JNIEnv *env)
{
    (*env)->DeleteWeakGlobalRef(env, attempt.object);
    attempt = (attempt_t){0};
}

// Of a virtual thread neither wait nor hold are followed: it may continue in another one.
static void begin_attempt(JNIEnv *env, jobject object, bool is_monitor)
{
    jthread thread = NULL;
    (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &thread);
    attempt_t found = is_monitor ? of_monitor(env, object, sonde_monitor_is_mine(env, object))
                                 : of_lock(env, object, thread);
    bool is_virtual = sonde_virtual(env, thread);
    (*env)->DeleteLocalRef(env, thread);
    if (is_virtual || !found.lock) {
        write_sample(&found, 0, 0, SONDE_NO_SPIN);
        return;
    }
    if (attempt.began) // an exception ended it
        forget_attempt(env);
    found.object = (*env)->NewWeakGlobalRef(env, object);
    (*env)->ExceptionClear(env);
    found.began = sonde_now();
    attempt = found;
}

void JNICALL sonde_on_lock_acquires(JNIEnv *env, jclass class, jobject lock, jint number)
{
    (void)class;
    if (!lock) // the program is about to get its exception
        return;
    if (__builtin_expect(sonde_open_holds, 0))
        sonde_lock_hold_again(env, lock, false);
    if (__builtin_expect(!is_sampled(), 1)) {
        sonde_acquisition_count();
        return;
    }
    int saved = errno;
    begin_attempt(env, lock, number == SONDE_LOCK_IS_MONITOR);
    errno = saved;
}

void JNICALL sonde_on_lock_acquired(JNIEnv *env, jclass class, jint number)
{
    (void)class;
    (void)number;
    if (__builtin_expect(!attempt.began, 1))
        return;
    int saved = errno;
    attempt_t done = attempt;
    attempt = (attempt_t){0};
    uint64_t wait_ns = sonde_now() - done.began, spin_ns = SONDE_NO_SPIN;
    if (done.kind == SONDE_KIND_MONITOR) {
        // The VM reports the wait after it has tried for a while. What it got by that alone shows
        // nowhere: to the program's threads and to us it is like a monitor that nobody held.
        done.contended = sonde_contended_monitor.asked >= done.began;
        spin_ns = done.contended ? sonde_contended_monitor.asked - done.began : 0;
    }
    jobject object = done.object ? (*env)->NewLocalRef(env, done.object) : NULL;
    sonde_lock_holds_check(env, sonde_acquisitions_round);
    write_with_hold(env, &done, object, false, wait_ns, spin_ns);
    (*env)->DeleteLocalRef(env, object);
    (*env)->DeleteWeakGlobalRef(env, done.object);
    errno = saved;
}

void JNICALL sonde_on_lock_releases(JNIEnv *env, jclass class, jobject lock, jint number)
{
    (void)class;
    (void)number;
    if (__builtin_expect(!sonde_open_holds, 1) || !lock)
        return;
    int saved = errno;
    sonde_lock_hold_release(env, lock, ended);
    errno = saved;
}

// The method has its monitor already; whether the thread had to wait says the VM's event before.
void JNICALL sonde_on_lock_holds(JNIEnv *env, jclass class, jobject lock, jint number)
{
    (void)class;
    (void)number;
    if (__builtin_expect(sonde_open_holds, 0))
        sonde_lock_hold_again(env, lock, true);
    bool sampled = is_sampled();
    if (__builtin_expect(!sampled, 1))
        sonde_acquisition_count();
    sonde_contended contended = sonde_contended_monitor;
    if (__builtin_expect(contended.lock != 0, 0))
        sonde_contended_monitor = (sonde_contended){0};
    if (__builtin_expect(!sampled, 1))
        return;
    int saved = errno;
    jthread thread = NULL;
    (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &thread);
    attempt_t done = of_monitor(env, lock, false);
    done.contended = done.lock && contended.lock == done.lock;
    uint64_t wait_ns = done.contended ? contended.got - contended.asked : 0;
    sonde_lock_holds_check(env, sonde_acquisitions_round);
    write_with_hold(env, &done, sonde_virtual(env, thread) ? NULL : lock, true, wait_ns,
                    done.contended ? SONDE_NO_SPIN : 0);
    (*env)->DeleteLocalRef(env, thread);
    errno = saved;
}

void sonde_lock_method_left(JNIEnv *env)
{
    if (__builtin_expect(!sonde_open_holds, 1))
        return;
    int saved = errno;
    sonde_lock_hold_method_left(env, ended);
    errno = saved;
}

// ---- which methods

static sonde_class_filter filter;

bool sonde_lock_wants_class(const char *name) { return sonde_class_filter_wants(&filter, name); }

void sonde_lock_choose(const sonde_class_method *method, sonde_method_edit *edit)
{
    if (sonde_class_filter_wants_method(&filter, method))
        sonde_lock_places(method, edit);
}

// ---- beginning and end

bool sonde_lock_activity_wanted(void) { return sonde.config.what & SONDE_WHAT_LOCK_ACTIVITY; }

bool sonde_lock_activity_start(JNIEnv *env, uint32_t refusal)
{
    const sonde_header *header = sonde.header;
    uint32_t length = header->lock_within_length;
    sonde_class_filter_set(&filter, header->lock_within,
                           length < SONDE_LOCK_WITHIN ? length : SONDE_LOCK_WITHIN);
    if (!refusal && (!sonde_locks_jvmti || !sonde_lock_states_prepare(env)))
        refusal = SONDE_LOCK_ACTIVITY_UNKNOWN_LAYOUT;
    bool started = !refusal && sonde_acquisitions_start();
    atomic_store(&sonde.header->lock_activity, started   ? SONDE_LOCK_ACTIVITY_SAMPLED
                                               : refusal ? refusal
                                                         : SONDE_LOCK_ACTIVITY_NO_HOOK);
    return started;
}

void sonde_lock_activity_stop(void) { sonde_acquisitions_stop(); }
