#define _GNU_SOURCE
#include "hotspot/locks/monitors.h"

#include "core/base/clock.h"
#include "core/hooks/got.h"
#include "core/hooks/waiter_table.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/names/types.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/blocked_stacks.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/walk.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

jvmtiEnv *sonde_locks_jvmti;

// A lock can be let go many times while the one that was woken is on its way: releases of the same
// owner closer together than this are one hold.
#define SAME_HOLD_NS 20000u

// What the calling thread waits for, so that the hook knows whose sleep it is.
static _Thread_local struct {
    uint64_t lock;
    uint32_t kind, place;
    sonde_notice notice;
    // After Object.wait: the monitor it takes back, and what it sleeps on if that is taken.
    uint64_t again;
    const void *again_on;
} waits __attribute__((tls_model("initial-exec")));

// ---- identities

uint64_t sonde_lock_of(jobject object, uint64_t what)
{
    jint hash = 0;
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    if (!jvmti || !object || (*jvmti)->GetObjectHashCode(jvmti, object, &hash))
        return 0;
    return (uint32_t)hash | what;
}

// ---- telling

// As sonde_enter, unless locks are not recorded just now; the ends of waits are told all the same.
static sonde_thread *enter(void)
{
    sonde_thread *me = sonde_enter();
    if (!me || (sonde_what() & SONDE_WHAT_LOCKS))
        return me;
    sonde_leave(me);
    return NULL;
}

static void tell_wait(JNIEnv *env, jthread thread, jobject object, sonde_lock_event event)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (!me)
        return;
    uint32_t what = sonde_what(), depth = 0;
    sonde_event stack = {0};
    if (what & (SONDE_WHAT_LOCKS | SONDE_WHAT_WAITS)) {
        sonde_hotspot_is(me);
        depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, &stack);
        sonde_blocked_keep(me, depth, stack.flags);
    }
    if (what & SONDE_WHAT_LOCKS) {
        event.holder = sonde_virtual(env, thread);
        event.type = SONDE_LOCK_ENTER;
        if (event.holder)
            sonde_virtual_tell(me, env, thread, event.holder);
        if (object) {
            jclass class = (*env)->GetObjectClass(env, object);
            event.started = sonde_type_of(me, sonde_locks_jvmti, class);
            (*env)->DeleteLocalRef(env, class);
        }
        event.flags = stack.flags;
        if (!event.sequence)
            event.sequence = sonde_lock_sequence(event.lock);
        sonde_write_lock(me, depth, &event);
    }
    sonde_leave(me);
    errno = saved;
}

void sonde_lock_must_wait(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind)
{
    tell_wait(env, thread, object,
              (sonde_lock_event){.time = sonde_now(), .lock = lock, .kind = kind});
}

static void tell_end(JNIEnv *env, jthread thread, sonde_lock_event event)
{
    int saved = errno;
    if (!(sonde.config.what & SONDE_WHAT_LOCKS))
        return;
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_hotspot_is(me);
        event.holder = sonde_virtual(env, thread);
        if (!event.sequence)
            event.sequence = sonde_lock_sequence(event.lock);
        sonde_write_lock(me, 0, &event);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_lock_waited(JNIEnv *env, jthread thread, uint64_t lock, uint32_t kind, bool gave_up)
{
    tell_end(env, thread,
             (sonde_lock_event){.time = sonde_now(),
                                .lock = lock,
                                .kind = kind,
                                .type = gave_up ? SONDE_LOCK_GAVE_UP : SONDE_LOCK_ENTERED});
}

void sonde_lock_notified(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind,
                         uint64_t wanted, uint32_t wanted_kind, const sonde_notice *notice)
{
    bool contends = notice->contends;
    uint64_t time = contends ? notice->time : sonde_now();
    tell_end(env, thread,
             (sonde_lock_event){.time = time,
                                .lock = lock,
                                .sequence = notice->ended,
                                .kind = kind,
                                .type = SONDE_LOCK_ENTERED});
    if (!contends)
        return;
    tell_wait(env, thread, object,
              (sonde_lock_event){
                  .time = time, .lock = wanted, .sequence = notice->contends, .kind = wanted_kind});
    sonde_lock_waited(env, thread, wanted, wanted_kind, false);
}

void sonde_lock_let_go(JNIEnv *env, uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time)
{
    int saved = errno;
    sonde_thread *me = enter();
    if (me) {
        sonde_hotspot_is(me);
        jthread thread = NULL;
        if (sonde_virtual_exist())
            (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &thread);
        sonde_event stack = {0};
        sonde_lock_event event = {.time = time,
                                  .lock = lock,
                                  .sequence = sequence,
                                  .kind = kind,
                                  .holder = sonde_virtual(env, thread),
                                  .type = SONDE_LOCK_EXIT};
        if (event.holder)
            sonde_virtual_tell(me, env, thread, event.holder);
        (*env)->DeleteLocalRef(env, thread);
        uint32_t depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, &stack);
        event.flags = stack.flags;
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}

// ---- monitors: the waiter

static void begin(JNIEnv *env, jthread thread, jobject object, uint64_t what, uint32_t kind)
{
    uint64_t lock = sonde_lock_of(object, what);
    if (!lock)
        return;
    sonde_lock_must_wait(env, thread, object, lock, kind);
    uint64_t number = sonde_virtual(env, thread);
    if (sonde_virtual_leaves(number)) {
        sonde_virtual_monitor_begin(number, lock, kind);
        if (!sonde_virtual_followed())
            return;
        waits.place = SONDE_NO_PLACE; // it may end in another thread
    } else {
        waits.place = sonde_lookout_begin(lock);
    }
    if (!number)
        sonde_blocked_begin();
    waits.kind = kind;
    waits.lock = lock;
    waits.notice = (sonde_notice){0};
    waits.again = 0;
}

// Where it cannot leave, which is found out only when it has tried, its carrier sleeps for it. One
// that is back may find the monitor taken, and leave again without a word.
void sonde_lock_carrier_left(void) { waits.lock = waits.again = 0; }

void sonde_lock_carrier_taken(uint64_t number)
{
    uint32_t kind = 0;
    uint64_t lock = sonde_virtual_leaves(number) ? sonde_virtual_monitor_of(number, &kind) : 0;
    if (lock) {
        waits.place = SONDE_NO_PLACE;
        waits.kind = kind;
        waits.lock = lock;
    }
}

static void end(JNIEnv *env, jthread thread, jobject object, uint64_t what, uint32_t kind,
                bool gave_up)
{
    uint64_t lock = sonde_lock_of(object, what), number = sonde_virtual(env, thread);
    sonde_blocked_end();
    if (lock && sonde_virtual_leaves(number))
        sonde_virtual_monitor_end(number, lock);
    if (lock && waits.lock == lock) {
        sonde_lookout_end(waits.place);
        waits.lock = 0;
        if (what == SONDE_IS_WAIT && !number)
            waits.again = (uint32_t)lock;
        if (waits.notice.time) {
            sonde_lock_notified(env, thread, object, lock, kind, (uint32_t)lock, SONDE_KIND_MONITOR,
                                &waits.notice);
            return;
        }
    } else if (!lock || !(number || sonde_lookout_was_found(lock))) {
        // The end of a wait that nobody told the beginning of: for a class to be initialized.
        return;
    }
    sonde_lock_waited(env, thread, lock, kind, gave_up);
}

static void JNICALL on_enter(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    (void)jvmti;
    begin(env, thread, object, 0, SONDE_KIND_MONITOR);
}

static void JNICALL on_entered(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    (void)jvmti;
    end(env, thread, object, 0, SONDE_KIND_MONITOR, false);
}

static void JNICALL on_wait(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                            jlong timeout)
{
    (void)jvmti;
    (void)timeout;
    if (sonde_parks_register(env))
        return;
    begin(env, thread, object, SONDE_IS_WAIT, SONDE_KIND_MONITOR_WAIT);
}

static void JNICALL on_waited(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                              jboolean timed_out)
{
    (void)jvmti;
    if (sonde_parks_register(env))
        return;
    end(env, thread, object, SONDE_IS_WAIT, SONDE_KIND_MONITOR_WAIT, timed_out);
}

// ---- monitors: the owner, in the VM's own calls of libc

static int sleep_on(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    return until ? pthread_cond_timedwait(cond, mutex, until) : pthread_cond_wait(cond, mutex);
}

// After Object.wait a thread takes the monitor back without a word of JVMTI's.
static int sleep_again(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until,
                       const void *frame)
{
    sonde_lock_event event = {.lock = waits.again,
                              .started = sonde_now(),
                              .started_sequence = sonde_lock_sequence(waits.again),
                              .kind = SONDE_KIND_MONITOR,
                              .type = SONDE_LOCK_WAITED};
    bool entered = sonde_wait_begin(cond, event.lock, event.kind);
    int result = sleep_on(cond, mutex, until), saved = errno;
    if (entered)
        sonde_wait_end(cond);
    sonde_thread *me = enter();
    if (me) {
        sonde_event stack = {0};
        uint32_t depth = sonde_stack_below(me, frame, &stack);
        event.time = sonde_now();
        event.sequence = sonde_lock_sequence(event.lock);
        event.flags = stack.flags;
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
    return result;
}

__attribute__((noinline)) static int sleep_seen(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                                const struct timespec *until, const void *frame)
{
    const void *record;
    uint32_t place = SONDE_NO_NOTICE;
    if (waits.kind == SONDE_KIND_MONITOR_WAIT && waits.place != SONDE_NO_PLACE) {
        sonde_awaiting me = {.condition = waits.lock, .lock = (uint32_t)waits.lock, .key = cond};
        waits.again_on = cond;
        if (sonde_vm_thread(&record) && sonde_monitor_waiter(&me, record, frame))
            place = sonde_notice_await(&me);
    }
    bool entered = sonde_wait_begin(cond, waits.lock, waits.kind);
    int result = sleep_on(cond, mutex, until);
    if (entered)
        sonde_wait_end(cond);
    sonde_notice notice = sonde_notice_take(place, cond);
    if (notice.time)
        waits.notice = notice;
    return result;
}

static bool takes_back(const pthread_cond_t *cond)
{
    return waits.again && waits.again_on == cond &&
           atomic_load_explicit(&sonde.generation, memory_order_relaxed);
}

static int on_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (waits.lock)
        return sleep_seen(cond, mutex, NULL, __builtin_frame_address(0));
    if (takes_back(cond))
        return sleep_again(cond, mutex, NULL, __builtin_frame_address(0));
    sonde_virtual_waker_waits(cond);
    return pthread_cond_wait(cond, mutex);
}

static int on_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                             const struct timespec *until)
{
    if (waits.lock)
        return sleep_seen(cond, mutex, until, __builtin_frame_address(0));
    if (takes_back(cond))
        return sleep_again(cond, mutex, until, __builtin_frame_address(0));
    return pthread_cond_timedwait(cond, mutex, until);
}

static void tell_below(uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time,
                       const void *record, const void *frame)
{
    int saved = errno;
    sonde_thread *me = enter();
    if (me) {
        sonde_hotspot_is(me);
        sonde_event stack = {0};
        uint32_t depth = sonde_stack_below(me, frame, &stack);
        sonde_lock_event event = {.time = time,
                                  .lock = lock,
                                  .sequence = sequence,
                                  .kind = kind,
                                  .holder = sonde_record_virtual(record),
                                  .type = SONDE_LOCK_EXIT,
                                  .flags = stack.flags};
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}

// Not a thread that sleeps for itself: one or more virtual ones are to go on.
static int signal_others(pthread_cond_t *cond, const void *record, const void *frame)
{
    sonde_let_go found[SONDE_MAX_LET_GO];
    uint64_t sequence[SONDE_MAX_LET_GO], now = sonde_now();
    uint32_t count = sonde_virtual_lets_go(cond, record, found);
    for (uint32_t i = 0; i < count; i++)
        sequence[i] = sonde_lock_sequence(found[i].lock);
    int result = pthread_cond_signal(cond);
    for (uint32_t i = 0; i < count; i++)
        tell_below(found[i].lock, found[i].kind, sequence[i], now, record, frame);
    return result;
}

__attribute__((noinline)) static int signal_seen(pthread_cond_t *cond, const void *frame)
{
    const void *record;
    sonde_waited *entry = sonde_waited_for(cond);
    if (!sonde_vm_thread(&record)) // the VM's own threads own no monitor of Java
        return pthread_cond_signal(cond);
    if (!entry)
        return signal_others(cond, record, frame);
    // Read before the signal: afterwards the waiter may be gone, and its entry another's.
    uint64_t lock = entry->lock, now = sonde_now(), monitor = (uint32_t)lock;
    uint32_t kind = entry->kind, owner = (uint32_t)(uintptr_t)record >> 4;
    bool same_hold = entry->last_owner == owner && now - entry->last_exit < SAME_HOLD_NS;
    entry->last_owner = owner;
    entry->last_exit = now;
    sonde_notified notified = sonde_notify(monitor, cond, now, sonde_monitor_was_notified, NULL);
    bool waits_on = kind == SONDE_KIND_MONITOR_WAIT && !notified.before;
    bool tells_wait = notified.count || (waits_on && !same_hold);
    bool tells_monitor = notified.contends || (!waits_on && !same_hold);
    uint64_t of_wait = notified.exits[0].sequence, of_monitor = 0;
    if (tells_wait && !notified.count)
        of_wait = sonde_lock_sequence(lock);
    if (tells_monitor)
        of_monitor = sonde_lock_sequence(monitor);
    int result = pthread_cond_signal(cond);
    if (tells_wait)
        tell_below(monitor | SONDE_IS_WAIT, SONDE_KIND_MONITOR_WAIT, of_wait, now, record, frame);
    if (tells_monitor)
        tell_below(monitor, SONDE_KIND_MONITOR, of_monitor, now, record, frame);
    return result;
}

static int on_cond_signal(pthread_cond_t *cond)
{
    if (!sonde_anybody_waits())
        return pthread_cond_signal(cond);
    sonde_waking_begin(__builtin_frame_address(0));
    int result = signal_seen(cond, __builtin_frame_address(0));
    sonde_waking_end();
    return result;
}

static const sonde_hook hooks[] = {
    {"pthread_cond_wait", (void *)on_cond_wait},
    {"pthread_cond_timedwait", (void *)on_cond_timedwait},
    {"pthread_cond_signal", (void *)on_cond_signal},
};

// ---- beginning and end

static const jvmtiEvent told[] = {
    JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
    JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMTI_EVENT_MONITOR_WAIT,
    JVMTI_EVENT_MONITOR_WAITED,
};

static jvmtiError listen(jvmtiEnv *jvmti)
{
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_generate_monitor_events = 1;
    wanted.can_tag_objects = 1;
    wanted.can_get_monitor_info = 1;
    sonde_virtual_want(jvmti, &wanted);
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.MonitorContendedEnter = on_enter;
    callbacks.MonitorContendedEntered = on_entered;
    callbacks.MonitorWait = on_wait;
    callbacks.MonitorWaited = on_waited;
    jvmtiError error = (*jvmti)->AddCapabilities(jvmti, &wanted);
    if (!error)
        error = sonde_virtual_listen(jvmti, &callbacks);
    for (size_t i = 0; i < sizeof told / sizeof *told && !error; i++)
        error = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, told[i], NULL);
    if (!error)
        sonde_virtual_notify(jvmti, JVMTI_ENABLE);
    return error;
}

int sonde_locks_start(JNIEnv *env)
{
    // Stays for good: a thread that was parked when the recording ended uses it when it wakes up.
    if (!sonde_locks_jvmti &&
        (*sonde_vm.vm)->GetEnv(sonde_vm.vm, (void **)&sonde_locks_jvmti, JVMTI_VERSION_11) !=
            JNI_OK)
        return ENOTSUP;
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    sonde_virtual_find(env);
    sonde_virtual_monitors_forget();
    sonde_notices_forget();
    // Before anybody is told to wait: who lets go after that must be seen.
    int hooked = sonde_got_hook(NULL, "/libjvm.so", hooks, sizeof hooks / sizeof *hooks);
    int error = hooked < 0 ? EPERM : 0;
    if (!error && listen(jvmti))
        error = ENOTSUP;
    if (!error && (sonde.config.what & SONDE_WHAT_LOCKS)) {
        sonde_parks_start(env);
        sonde_virtual_parks_start();
        error = sonde_lookout_start(env);
    }
    if (error)
        sonde_locks_stop(env);
    return error;
}

void sonde_locks_stop(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    if (!jvmti)
        return;
    sonde_lookout_stop();
    sonde_got_unhook();
    if (!env) // the VM has ended
        return;
    sonde_parks_stop(env);
    sonde_virtual_parks_stop();
    sonde_virtual_notify(jvmti, JVMTI_DISABLE);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, told[i], NULL);
    jvmtiCapabilities had;
    if ((*jvmti)->GetCapabilities(jvmti, &had) == 0)
        (*jvmti)->RelinquishCapabilities(jvmti, &had);
}

void sonde_locks_forked(void)
{
    sonde_waiters_forked();
    sonde_notices_forget();
    sonde_lookout_forked();
}
