#define _GNU_SOURCE
#include "hotspot/locks/monitors.h"

#include "core/base/clock.h"
#include "core/hooks/got.h"
#include "core/hooks/preexisting_table.h"
#include "core/hooks/waiter_table.h"
#include "core/session/records.h"
#include "hotspot/locks/deadlock_watch.h"
#include "hotspot/locks/lock_events.h"
#include "hotspot/locks/monitor_waiters.h"
#include "hotspot/locks/park_hooks.h"
#include "hotspot/locks/thread_wait.h"
#include "hotspot/locks/virtual_monitors.h"
#include "hotspot/locks/virtual_parks.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/locks/wait_registry.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/blocked_stacks.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

// ---- monitors: the waiter

static void begin(JNIEnv *env, jthread thread, jobject object, uint64_t what, uint32_t kind)
{
    uint64_t lock = sonde_lock_of(object, what);
    if (!lock)
        return;
    sonde_lock_wait_begins(env, thread, object, lock, kind);
    uint64_t number = sonde_virtual(env, thread);
    if (sonde_virtual_leaves(number)) {
        sonde_virtual_monitor_begin(number, lock, kind);
        if (!sonde_virtual_followed())
            return;
        sonde_current_wait.place = SONDE_NO_PLACE; // it may end in another thread
    } else {
        sonde_current_wait.place = sonde_wait_registry_add(lock);
    }
    if (!number)
        sonde_blocked_begin();
    sonde_current_wait.kind = kind;
    sonde_current_wait.lock = lock;
    sonde_current_wait.notice = (sonde_notice){0};
    sonde_current_wait.again = 0;
}

static void end(JNIEnv *env, jthread thread, jobject object, uint64_t what, uint32_t kind,
                bool gave_up)
{
    uint64_t lock = sonde_lock_of(object, what), number = sonde_virtual(env, thread);
    sonde_blocked_end();
    if (lock && sonde_virtual_leaves(number))
        sonde_virtual_monitor_end(number, lock);
    if (lock && sonde_current_wait.lock == lock) {
        sonde_wait_registry_remove(sonde_current_wait.place);
        sonde_current_wait.lock = 0;
        if (what == SONDE_IS_WAIT && !number)
            sonde_current_wait.again = (uint32_t)lock;
        if (sonde_current_wait.notice.time) {
            sonde_lock_notified(env, thread, object, lock, kind, (uint32_t)lock, SONDE_KIND_MONITOR,
                                &sonde_current_wait.notice);
            return;
        }
    } else if (!lock || !(number || sonde_take_preexisting_wait((const void *)(uintptr_t)lock))) {
        // The end of a wait whose beginning was not reported: for a class to be initialized.
        return;
    }
    sonde_lock_wait_ends(env, thread, lock, kind, gave_up);
}

static void JNICALL on_enter(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    (void)jvmti;
    uint64_t now = sonde_now();
    begin(env, thread, object, 0, SONDE_KIND_MONITOR);
    sonde_contended_monitor = (sonde_contended){sonde_current_wait.lock, now, now};
}

static void JNICALL on_entered(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object)
{
    (void)jvmti;
    sonde_contended_monitor.got = sonde_now();
    end(env, thread, object, 0, SONDE_KIND_MONITOR, false);
}

static void JNICALL on_wait(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
                            jlong timeout)
{
    (void)jvmti;
    (void)timeout;
    if (sonde_parks_register(env))
        return;
    sonde_condition_waits++;
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

// ---- monitors: the holder, in the VM's own calls of libc

static int sleep_on(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    return until ? pthread_cond_timedwait(cond, mutex, until) : pthread_cond_wait(cond, mutex);
}

// After Object.wait a thread takes the monitor back without an event of JVMTI's.
static int sleep_again(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until,
                       const void *frame)
{
    sonde_lock_event event = {.lock = sonde_current_wait.again,
                              .started = sonde_now(),
                              .started_sequence = sonde_lock_sequence(sonde_current_wait.again),
                              .kind = SONDE_KIND_MONITOR,
                              .type = SONDE_LOCK_WAITED};
    bool entered = sonde_wait_begin(cond, event.lock, event.kind);
    int result = sleep_on(cond, mutex, until), saved = errno;
    if (entered)
        sonde_wait_end(cond);
    sonde_thread *me = sonde_lock_enter();
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
    if (sonde_current_wait.kind == SONDE_KIND_MONITOR_WAIT &&
        sonde_current_wait.place != SONDE_NO_PLACE) {
        sonde_condition_waiter me = {.condition = sonde_current_wait.lock,
                                     .lock = (uint32_t)sonde_current_wait.lock,
                                     .key = cond};
        sonde_current_wait.again_on = cond;
        if (sonde_vm_thread(&record) && sonde_monitor_waiter(&me, record, frame))
            place = sonde_notice_wait(&me);
    }
    bool entered = sonde_wait_begin(cond, sonde_current_wait.lock, sonde_current_wait.kind);
    int result = sleep_on(cond, mutex, until);
    if (entered)
        sonde_wait_end(cond);
    sonde_notice notice = sonde_notice_take(place, cond);
    if (notice.time)
        sonde_current_wait.notice = notice;
    return result;
}

static bool takes_back(const pthread_cond_t *cond)
{
    return sonde_current_wait.again && sonde_current_wait.again_on == cond &&
           atomic_load_explicit(&sonde.generation, memory_order_relaxed);
}

static int on_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (sonde_current_wait.lock)
        return sleep_seen(cond, mutex, NULL, __builtin_frame_address(0));
    if (takes_back(cond))
        return sleep_again(cond, mutex, NULL, __builtin_frame_address(0));
    sonde_virtual_waker_waits(cond);
    return pthread_cond_wait(cond, mutex);
}

static int on_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                             const struct timespec *until)
{
    if (sonde_current_wait.lock)
        return sleep_seen(cond, mutex, until, __builtin_frame_address(0));
    if (takes_back(cond))
        return sleep_again(cond, mutex, until, __builtin_frame_address(0));
    return pthread_cond_timedwait(cond, mutex, until);
}

// Not a thread that sleeps for itself: one or more virtual ones are to continue.
static int signal_others(pthread_cond_t *cond, const void *record, const void *frame)
{
    sonde_release found[SONDE_MAX_RELEASES];
    uint64_t sequence[SONDE_MAX_RELEASES], now = sonde_now();
    uint32_t count = sonde_virtual_releases(cond, record, found);
    for (uint32_t i = 0; i < count; i++)
        sequence[i] = sonde_lock_sequence(found[i].lock);
    int result = pthread_cond_signal(cond);
    for (uint32_t i = 0; i < count; i++)
        sonde_lock_released_below(found[i].lock, found[i].kind, sequence[i], now, record, frame);
    return result;
}

__attribute__((noinline)) static int signal_seen(pthread_cond_t *cond, const void *frame)
{
    const void *record;
    sonde_waiter *entry = sonde_find_waiter(cond);
    if (!sonde_vm_thread(&record)) // the VM's own threads own no monitor of Java
        return pthread_cond_signal(cond);
    if (!entry)
        return signal_others(cond, record, frame);
    // Read before the signal: afterwards the waiter may have left, and its entry be another's.
    uint64_t lock = entry->lock, now = sonde_now(), monitor = (uint32_t)lock;
    uint32_t kind = entry->kind, owner = (uint32_t)(uintptr_t)record >> 4;
    bool same_hold = sonde_is_same_hold(entry, owner, now);
    sonde_note_release(entry, owner, now);
    sonde_notified notified = sonde_notify(monitor, cond, now, sonde_monitor_was_notified, NULL);
    bool waits_on = kind == SONDE_KIND_MONITOR_WAIT && !notified.before;
    bool reports_wait = notified.count || (waits_on && !same_hold);
    bool reports_monitor = notified.contends || (!waits_on && !same_hold);
    uint64_t of_wait = notified.exits[0].sequence, of_monitor = 0;
    if (reports_wait && !notified.count)
        of_wait = sonde_lock_sequence(lock);
    if (reports_monitor)
        of_monitor = sonde_lock_sequence(monitor);
    int result = pthread_cond_signal(cond);
    if (reports_wait)
        sonde_lock_released_below(monitor | SONDE_IS_WAIT, SONDE_KIND_MONITOR_WAIT, of_wait, now,
                                  record, frame);
    if (reports_monitor)
        sonde_lock_released_below(monitor, SONDE_KIND_MONITOR, of_monitor, now, record, frame);
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

static const jvmtiEvent enabled_events[] = {
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
    sonde_virtual_request(jvmti, &wanted);
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.MonitorContendedEnter = on_enter;
    callbacks.MonitorContendedEntered = on_entered;
    callbacks.MonitorWait = on_wait;
    callbacks.MonitorWaited = on_waited;
    jvmtiError error = (*jvmti)->AddCapabilities(jvmti, &wanted);
    if (!error)
        error = sonde_virtual_listen(jvmti, &callbacks);
    for (size_t i = 0; i < sizeof enabled_events / sizeof *enabled_events && !error; i++)
        error = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, enabled_events[i], NULL);
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
    // Before any wait is reported: releases after that must be seen.
    int hooked = sonde_got_hook(NULL, SONDE_LIBJVM, hooks, sizeof hooks / sizeof *hooks);
    int error = hooked < 0 ? EPERM : 0;
    if (!error && listen(jvmti))
        error = ENOTSUP;
    if (!error && (sonde.config.what & SONDE_WHAT_LOCKS)) {
        sonde_parks_start(env);
        sonde_virtual_parks_start();
        error = sonde_deadlock_watch_start(env);
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
    sonde_deadlock_watch_stop();
    sonde_got_unhook();
    if (!env) // the VM has ended
        return;
    sonde_parks_stop(env);
    sonde_virtual_parks_stop();
    sonde_virtual_notify(jvmti, JVMTI_DISABLE);
    for (size_t i = 0; i < sizeof enabled_events / sizeof *enabled_events; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, enabled_events[i], NULL);
    jvmtiCapabilities had;
    if ((*jvmti)->GetCapabilities(jvmti, &had) == 0)
        (*jvmti)->RelinquishCapabilities(jvmti, &had);
}

void sonde_locks_forked(void)
{
    sonde_waiters_forked();
    sonde_notices_forget();
    sonde_deadlock_watch_forked();
}
