#define _GNU_SOURCE
#include "locks.h"

#include "../core/clock.h"
#include "../core/got.h"
#include "../core/names.h"
#include "../core/waiters.h"
#include "stacks.h"
#include "types.h"
#include "vm.h"
#include "walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

jvmtiEnv *sonde_locks_jvmti;

// A lock can be let go many times while the one that was woken is on its way: releases of the same
// owner closer together than this are one hold.
#define SAME_HOLD_NS 20000u

// What the calling thread waits for, so that the hook knows whose sleep it is.
static _Thread_local struct {
    uint64_t lock;
    uint32_t kind, place;
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

static jclass virtual_class; // NULL before 21
static jfieldID number_field;

static void find_virtual(JNIEnv *env)
{
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    number_field = thread ? (*env)->GetFieldID(env, thread, "tid", "J") : NULL;
    jclass found = (*env)->FindClass(env, "java/lang/BaseVirtualThread");
    (*env)->ExceptionClear(env);
    if (found && number_field && !virtual_class)
        virtual_class = (*env)->NewGlobalRef(env, found);
    (*env)->DeleteLocalRef(env, found);
    (*env)->DeleteLocalRef(env, thread);
}

uint64_t sonde_virtual(JNIEnv *env, jthread thread)
{
    if (!virtual_class || !thread || !(*env)->IsInstanceOf(env, thread, virtual_class))
        return 0;
    return SONDE_VIRTUAL | (uint64_t)(*env)->GetLongField(env, thread, number_field);
}

// A virtual thread is told by its number, and by its name where it has one.
static void tell_virtual(sonde_thread *me, JNIEnv *env, jthread thread, uint64_t number)
{
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    char text[64];
    if ((*sonde_locks_jvmti)->GetThreadInfo(sonde_locks_jvmti, thread, &info))
        return;
    snprintf(text, sizeof text, "virtual thread %llu",
             (unsigned long long)(number & ~SONDE_VIRTUAL));
    sonde_write_thread(&me->ring, number, info.name && *info.name ? info.name : text, 1);
    (*sonde_locks_jvmti)->Deallocate(sonde_locks_jvmti, (unsigned char *)info.name);
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
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

void sonde_lock_must_wait(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind)
{
    int saved = errno;
    sonde_thread *me = enter();
    if (me) {
        sonde_hotspot_is(me);
        sonde_event stack = {0};
        sonde_lock_event event = {.time = sonde_now(),
                                  .lock = lock,
                                  .kind = kind,
                                  .holder = sonde_virtual(env, thread),
                                  .type = SONDE_LOCK_ENTER};
        if (event.holder)
            tell_virtual(me, env, thread, event.holder);
        if (object) {
            jclass class = (*env)->GetObjectClass(env, object);
            event.started = sonde_type_of(me, sonde_locks_jvmti, class);
            (*env)->DeleteLocalRef(env, class);
        }
        uint32_t depth = sonde_stack_of(me, sonde_locks_jvmti, NULL, &stack);
        event.flags = stack.flags;
        event.sequence = sonde_lock_sequence(lock);
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_lock_waited(JNIEnv *env, jthread thread, uint64_t lock, uint32_t kind, bool gave_up)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_hotspot_is(me);
        sonde_lock_event event = {.time = sonde_now(),
                                  .lock = lock,
                                  .sequence = sonde_lock_sequence(lock),
                                  .kind = kind,
                                  .holder = sonde_virtual(env, thread),
                                  .type = gave_up ? SONDE_LOCK_GAVE_UP : SONDE_LOCK_ENTERED};
        sonde_write_lock(me, 0, &event);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_lock_let_go(JNIEnv *env, uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time)
{
    int saved = errno;
    sonde_thread *me = enter();
    if (me) {
        sonde_hotspot_is(me);
        jthread thread = NULL;
        if (virtual_class)
            (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &thread);
        sonde_event stack = {0};
        sonde_lock_event event = {.time = time,
                                  .lock = lock,
                                  .sequence = sequence,
                                  .kind = kind,
                                  .holder = sonde_virtual(env, thread),
                                  .type = SONDE_LOCK_EXIT};
        if (event.holder)
            tell_virtual(me, env, thread, event.holder);
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
    // From 24 on a virtual thread leaves its carrier, which goes on with something else.
    if (sonde_vm.version_hex >> 24 >= 24 && sonde_virtual(env, thread))
        return;
    waits.place = sonde_lookout_begin(lock);
    waits.kind = kind;
    waits.lock = lock;
}

static void end(JNIEnv *env, jthread thread, jobject object, uint64_t what, uint32_t kind,
                bool gave_up)
{
    uint64_t lock = sonde_lock_of(object, what);
    if (lock && waits.lock == lock) {
        sonde_lookout_end(waits.place);
        waits.lock = 0;
    } else if (!lock || !(sonde_virtual(env, thread) || sonde_lookout_was_found(lock))) {
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

static int on_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (__builtin_expect(!waits.lock, 1))
        return pthread_cond_wait(cond, mutex);
    bool entered = sonde_wait_begin(cond, waits.lock, waits.kind);
    int result = pthread_cond_wait(cond, mutex);
    if (entered)
        sonde_wait_end(cond);
    return result;
}

static int on_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                             const struct timespec *until)
{
    if (__builtin_expect(!waits.lock, 1))
        return pthread_cond_timedwait(cond, mutex, until);
    bool entered = sonde_wait_begin(cond, waits.lock, waits.kind);
    int result = pthread_cond_timedwait(cond, mutex, until);
    if (entered)
        sonde_wait_end(cond);
    return result;
}

static void tell_below(uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time,
                       const void *frame)
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
                                  .type = SONDE_LOCK_EXIT,
                                  .flags = stack.flags};
        sonde_write_lock(me, depth, &event);
        sonde_leave(me);
    }
    errno = saved;
}

__attribute__((noinline)) static int signal_seen(pthread_cond_t *cond, const void *frame)
{
    const void *record;
    sonde_waited *entry = sonde_waited_for(cond);
    if (!entry || !sonde_vm_thread(&record)) // the VM's own threads own no monitor of Java
        return pthread_cond_signal(cond);
    // Read before the signal: afterwards the waiter may be gone, and its entry another's.
    uint64_t lock = entry->lock, now = sonde_now();
    uint32_t kind = entry->kind, owner = (uint32_t)(uintptr_t)record >> 4;
    bool same_hold = entry->last_owner == owner && now - entry->last_exit < SAME_HOLD_NS;
    entry->last_owner = owner;
    entry->last_exit = now;
    uint64_t sequence = same_hold ? 0 : sonde_lock_sequence(lock);
    int result = pthread_cond_signal(cond);
    if (!same_hold)
        tell_below(lock, kind, sequence, now, frame);
    return result;
}

static int on_cond_signal(pthread_cond_t *cond)
{
    return sonde_anybody_waits() ? signal_seen(cond, __builtin_frame_address(0))
                                 : pthread_cond_signal(cond);
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

// The capability that comes next after the last one of 11's interface: headers of 17 do not name it
// (can_support_virtual_threads, 21).
static void want_virtual(jvmtiEnv *jvmti, jvmtiCapabilities *wanted)
{
    jvmtiCapabilities last, possible;
    memset(&last, 0, sizeof last);
    last.can_generate_sampled_object_alloc_events = 1;
    uint64_t bit, can;
    memcpy(&bit, &last, sizeof bit);
    bit <<= 1;
    if (!virtual_class || (*jvmti)->GetPotentialCapabilities(jvmti, &possible))
        return;
    memcpy(&can, &possible, sizeof can);
    uint64_t all;
    memcpy(&all, wanted, sizeof all);
    all |= can & bit;
    memcpy(wanted, &all, sizeof all);
}

static jvmtiError listen(jvmtiEnv *jvmti)
{
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_generate_monitor_events = 1;
    wanted.can_tag_objects = 1;
    wanted.can_get_monitor_info = 1;
    want_virtual(jvmti, &wanted);
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.MonitorContendedEnter = on_enter;
    callbacks.MonitorContendedEntered = on_entered;
    callbacks.MonitorWait = on_wait;
    callbacks.MonitorWaited = on_waited;
    jvmtiError error = (*jvmti)->AddCapabilities(jvmti, &wanted);
    if (!error)
        error = (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    for (size_t i = 0; i < sizeof told / sizeof *told && !error; i++)
        error = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, told[i], NULL);
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
    sonde_stacks_prepare();
    find_virtual(env);
    // Before anybody is told to wait: who lets go after that must be seen.
    int hooked = sonde_got_hook(NULL, "/libjvm.so", hooks, sizeof hooks / sizeof *hooks);
    int error = hooked < 0 ? EPERM : 0;
    if (!error && listen(jvmti))
        error = ENOTSUP;
    if (!error) {
        sonde_parks_start(env);
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
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, told[i], NULL);
    jvmtiCapabilities had;
    if ((*jvmti)->GetCapabilities(jvmti, &had) == 0)
        (*jvmti)->RelinquishCapabilities(jvmti, &had);
}

void sonde_locks_forked(void)
{
    sonde_waiters_forked();
    sonde_lookout_forked();
}
