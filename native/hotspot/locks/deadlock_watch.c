#define _GNU_SOURCE
#include "hotspot/locks/deadlock_watch.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/hooks/preexisting_table.h"
#include "core/hooks/waiter_table.h"
#include "core/session/records.h"
#include "hotspot/locks/lock_events.h"
#include "hotspot/locks/park_hooks.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/locks/wait_registry.h"
#include "hotspot/names/methods.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <string.h>

// ---- looking

typedef struct {
    jobject object; // what it waits for, NULL if unknown
    uint64_t lock;
    uint32_t kind;
} waiting;

static waiting what_for(JNIEnv *env, jthread thread)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    waiting w = {NULL, 0, 0};
    jint state = 0;
    if ((*jvmti)->GetThreadState(jvmti, thread, &state))
        return w;
    if (state & (JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER | JVMTI_THREAD_STATE_IN_OBJECT_WAIT)) {
        bool enters = state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
        w.kind = enters ? SONDE_KIND_MONITOR : SONDE_KIND_MONITOR_WAIT;
        w.object = sonde_record_monitor(env, sonde_vm_thread_of(env, thread), !enters);
        w.lock = sonde_lock_of(w.object, enters ? 0 : SONDE_IS_WAIT);
    } else if (state & JVMTI_THREAD_STATE_PARKED) {
        w.kind = SONDE_KIND_PARK;
        w.object = sonde_park_blocker(env, thread);
        w.lock = sonde_park_lock(thread, w.object);
    }
    return w;
}

static jthread holder_of(JNIEnv *env, const waiting *w)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    if (w->kind == SONDE_KIND_MONITOR) {
        jvmtiMonitorUsage usage;
        memset(&usage, 0, sizeof usage);
        if ((*jvmti)->GetObjectMonitorUsage(jvmti, w->object, &usage))
            return NULL;
        for (jint i = 0; i < usage.waiter_count; i++)
            (*env)->DeleteLocalRef(env, usage.waiters[i]);
        for (jint i = 0; i < usage.notify_waiter_count; i++)
            (*env)->DeleteLocalRef(env, usage.notify_waiters[i]);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)usage.waiters);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)usage.notify_waiters);
        return usage.owner;
    }
    return w->kind == SONDE_KIND_PARK ? sonde_park_holder(env, w->object) : NULL;
}

// Writes an event of another thread, with its stack.
static void report_for(JNIEnv *env, jthread thread, const waiting *w, uint8_t type,
                       bool reports_end)
{
    uint64_t record = sonde_vm_thread_of(env, thread), number = sonde_virtual(env, thread);
    uint64_t id = number ? number : sonde_record_tid(record);
    sonde_thread *notes = id ? sonde_notes_borrow() : NULL;
    if (!notes)
        return;
    sonde_event stack = {0};
    uint32_t depth = sonde_stack_of(notes, sonde_locks_jvmti, thread, &stack);
    // Its methods are described in the same ring, and have to be there before.
    sonde_notes_leave();
    sonde_methods_describe(env);
    notes = sonde_notes_borrow();
    if (!notes)
        return;
    stack = (sonde_event){0};
    depth = sonde_stack_of(notes, sonde_locks_jvmti, thread, &stack);
    sonde_lock_event event = {.time = sonde_now(),
                              .lock = w->lock,
                              .sequence = sonde_lock_sequence(w->lock),
                              .started = sonde_vm_object_of(env, thread),
                              .started_sequence = reports_end,
                              .kind = w->kind,
                              .holder = id,
                              .type = type,
                              .flags = stack.flags};
    sonde_write_lock(notes, depth, &event);
    sonde_notes_leave();
}

// `first`: no wait has been reported yet.
static void look(JNIEnv *env, bool first)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jint count = 0;
    jthread *threads = NULL;
    uint64_t now = sonde_now();
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
        return;
    for (jint i = 0; i < count; i++) {
        waiting w = what_for(env, threads[i]);
        bool reports_end = w.lock && (w.kind != SONDE_KIND_PARK || sonde_wait_registry_has(w.lock));
        if (w.lock && first) {
            const void *key = (const void *)(uintptr_t)w.lock;
            if (!sonde_wait_registry_has(w.lock) && sonde_add_preexisting_wait(key) && !reports_end)
                sonde_wait_begin(key, w.lock, w.kind);
            report_for(env, threads[i], &w, SONDE_LOCK_PREEXISTING, reports_end);
        }
        if (w.lock && (first || sonde_wait_registry_is_due(w.lock, now))) {
            jthread holder = holder_of(env, &w);
            if (holder)
                report_for(env, holder, &w, SONDE_LOCK_OWNER_OBSERVED, false);
            (*env)->DeleteLocalRef(env, holder);
        }
        (*env)->DeleteLocalRef(env, w.object);
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

// ---- the thread that looks

static void wake(void);
static void *body(void *unused);
// HotSpot puts its guard pages into the stack while the thread is attached.
static _Alignas(4096) char stack[1 << 20];
static sonde_worker worker = {.name = "sonde-deadlock",
                              .body = body,
                              .wake = wake,
                              .stack = stack,
                              .stack_size = sizeof stack};
#define LOOK_NS 250000000u

static void wake(void) { sonde_worker_wake(&worker); }

static void *body(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    while (!sonde_worker_is_stopping(&worker)) {
        sonde_exit_if_last();
        sonde_worker_sleep(&worker, LOOK_NS);
        if (sonde_worker_is_stopping(&worker) || !sonde_wait_registry_any_due(sonde_now()))
            continue;
        JNIEnv *env = sonde_vm_attach();
        if (env) {
            look(env, false);
            sonde_vm_detach();
        }
    }
    return NULL;
}

int sonde_deadlock_watch_start(JNIEnv *env)
{
    sonde_records_prepare();
    sonde_forget_preexisting_waits();
    look(env, true);
    return sonde_worker_start(&worker);
}

void sonde_deadlock_watch_stop(void) { sonde_worker_stop(&worker); }

void sonde_deadlock_watch_forked(void) { sonde_worker_forked(&worker); }
