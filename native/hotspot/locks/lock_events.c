#define _GNU_SOURCE
#include "hotspot/locks/lock_events.h"

#include "core/base/clock.h"
#include "core/hooks/waiter_table.h"
#include "core/session/records.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/names/types.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/walk/blocked_stacks.h"
#include "hotspot/walk/jvmti_stacks.h"
#include "hotspot/walk/thread_span.h"
#include "hotspot/walk/walk.h"

#include <errno.h>

jvmtiEnv *sonde_locks_jvmti;

// ---- identities

uint64_t sonde_lock_of(jobject object, uint64_t what)
{
    jint hash = 0;
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    if (!jvmti || !object || (*jvmti)->GetObjectHashCode(jvmti, object, &hash))
        return 0;
    return (uint32_t)hash | what;
}

// ---- reports

sonde_thread *sonde_lock_enter(void)
{
    sonde_thread *me = sonde_enter();
    if (!me || (sonde_what() & SONDE_WHAT_LOCKS))
        return me;
    sonde_leave(me);
    return NULL;
}

static void report_wait(JNIEnv *env, jthread thread, jobject object, sonde_lock_event event)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (!me)
        return;
    uint32_t what = sonde_what(), depth = 0;
    sonde_event stack = {0};
    if (what & (SONDE_WHAT_LOCKS | SONDE_WHAT_WAITS)) {
        sonde_hotspot_identify(me);
        depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, &stack);
        sonde_blocked_save(me, depth, stack.flags);
    }
    if (what & SONDE_WHAT_LOCKS) {
        event.holder = sonde_virtual(env, thread);
        event.type = SONDE_LOCK_WAIT_BEGIN;
        if (event.holder)
            sonde_virtual_report(me, sonde_locks_jvmti, env, thread, event.holder);
        if (object) {
            jclass class = (*env)->GetObjectClass(env, object);
            event.started = sonde_type_of(me, sonde_locks_jvmti, class);
            (*env)->DeleteLocalRef(env, class);
        }
        event.flags = stack.flags;
        event.span = event.holder
                         ? sonde_span_of(sonde_span_virtual(event.holder & ~SONDE_VIRTUAL), NULL)
                         : sonde_thread_span(me, NULL);
        if (!event.sequence)
            event.sequence = sonde_lock_sequence(event.lock);
        sonde_write_lock(me, depth, &event);
    }
    sonde_leave(me);
    errno = saved;
}

void sonde_lock_wait_begins(JNIEnv *env, jthread thread, jobject object, uint64_t lock,
                            uint32_t kind)
{
    report_wait(env, thread, object,
                (sonde_lock_event){.time = sonde_now(), .lock = lock, .kind = kind});
}

static void report_wait_end(JNIEnv *env, jthread thread, sonde_lock_event event)
{
    int saved = errno;
    if (!(sonde.config.what & SONDE_WHAT_LOCKS))
        return;
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_hotspot_identify(me);
        event.holder = sonde_virtual(env, thread);
        if (!event.sequence)
            event.sequence = sonde_lock_sequence(event.lock);
        sonde_write_lock(me, 0, &event);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_lock_wait_ends(JNIEnv *env, jthread thread, uint64_t lock, uint32_t kind, bool gave_up)
{
    report_wait_end(env, thread,
                    (sonde_lock_event){.time = sonde_now(),
                                       .lock = lock,
                                       .kind = kind,
                                       .type = gave_up ? SONDE_LOCK_GAVE_UP : SONDE_LOCK_ACQUIRED});
}

void sonde_lock_notified(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind,
                         uint64_t wanted, uint32_t wanted_kind, const sonde_notice *notice)
{
    bool contends = notice->contends;
    uint64_t time = contends ? notice->time : sonde_now();
    report_wait_end(env, thread,
                    (sonde_lock_event){.time = time,
                                       .lock = lock,
                                       .sequence = notice->ended,
                                       .kind = kind,
                                       .type = SONDE_LOCK_ACQUIRED});
    if (!contends)
        return;
    report_wait(
        env, thread, object,
        (sonde_lock_event){
            .time = time, .lock = wanted, .sequence = notice->contends, .kind = wanted_kind});
    sonde_lock_wait_ends(env, thread, wanted, wanted_kind, false);
}

void sonde_lock_released(JNIEnv *env, uint64_t lock, uint32_t kind, uint64_t sequence,
                         uint64_t time)
{
    int saved = errno;
    sonde_thread *me = sonde_lock_enter();
    if (me) {
        sonde_hotspot_identify(me);
        jthread thread = NULL;
        if (sonde_virtual_supported())
            (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &thread);
        sonde_event stack = {0};
        sonde_lock_event event = {.time = time,
                                  .lock = lock,
                                  .sequence = sequence,
                                  .kind = kind,
                                  .holder = sonde_virtual(env, thread),
                                  .type = SONDE_LOCK_RELEASED};
        if (event.holder)
            sonde_virtual_report(me, sonde_locks_jvmti, env, thread, event.holder);
        (*env)->DeleteLocalRef(env, thread);
        uint32_t depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, &stack);
        event.flags = stack.flags;
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_lock_released_below(uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time,
                               const void *record, const void *frame)
{
    int saved = errno;
    sonde_thread *me = sonde_lock_enter();
    if (me) {
        sonde_hotspot_identify(me);
        sonde_event stack = {0};
        uint32_t depth = sonde_stack_below(me, frame, &stack);
        sonde_lock_event event = {.time = time,
                                  .lock = lock,
                                  .sequence = sequence,
                                  .kind = kind,
                                  .holder = sonde_record_virtual(record),
                                  .type = SONDE_LOCK_RELEASED,
                                  .flags = stack.flags};
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}
