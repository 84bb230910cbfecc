#define _GNU_SOURCE
#include "hotspot/locks/virtual_parks.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/hooks/waiter_table.h"
#include "core/session/records.h"
#include "hotspot/locks/lock_events.h"
#include "hotspot/locks/park_hooks.h"
#include "hotspot/locks/thread_wait.h"
#include "hotspot/locks/virtual_monitors.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/jvmti_stacks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

// A virtual thread parks by leaving its carrier and is unparked by being handed to another one,
// both in Java alone: no native method is called that could be wrapped. But an extension of
// HotSpot's reports when one leaves or takes a carrier (21 to 25). Nothing reports which thread
// unparked it; so the lock holder is looked up when a wait for the lock begins.

static const void *key_of(uint64_t lock) { return (const void *)(uintptr_t)lock; }

// ---- those that parked: entered when they leave, by whichever carrier

#define PLACES_BITS 13
#define PLACES (1u << PLACES_BITS)
#define PROBES 16
static struct {
    _Atomic uint64_t number; // 0: free
    uint64_t lock, until;    // 0: parks for any time
    bool counted;
} places[PLACES];

static uint32_t start_of(uint64_t number) { return sonde_hash_place(number, PLACES_BITS); }

static bool keep(uint64_t number, uint64_t lock, uint64_t until)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t place = (start_of(number) + i) & (PLACES - 1);
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&places[place].number, &none, number))
            continue;
        // Only the thread itself looks for it, when this one is done with it.
        places[place].lock = lock;
        places[place].until = until;
        places[place].counted = sonde_wait_begin(key_of(lock), lock, SONDE_KIND_PARK);
        return true;
    }
    return false;
}

static uint64_t take(uint64_t number, uint64_t *until)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t place = (start_of(number) + i) & (PLACES - 1);
        if (atomic_load(&places[place].number) != number)
            continue;
        uint64_t lock = places[place].lock;
        *until = places[place].until;
        if (places[place].counted)
            sonde_wait_end(key_of(lock));
        atomic_store(&places[place].number, 0);
        return lock;
    }
    return 0;
}

static void forget_all(void)
{
    uint64_t until;
    for (uint32_t i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].number))
            take(atomic_load(&places[i].number), &until);
}

// ---- the last reported holder of a lock: to look it up costs the holder some microseconds, so
// that it is looked up again only after a while; it may have released the lock and hold it again,
// elsewhere

#define ASK_AGAIN_NS 1000000u
#define HOLDERS_BITS 10
static struct {
    _Atomic uint64_t lock, holder, since;
} holders[1u << HOLDERS_BITS];

static uint32_t holder_place(uint64_t lock) { return sonde_hash_place(lock, HOLDERS_BITS); }

static bool is_reported(uint64_t lock, uint64_t holder)
{
    uint32_t place = holder_place(lock);
    return atomic_load(&holders[place].lock) == lock &&
           atomic_load(&holders[place].holder) == holder &&
           sonde_now() - atomic_load(&holders[place].since) < ASK_AGAIN_NS;
}

static void note_holder(uint64_t lock, uint64_t holder)
{
    uint32_t place = holder_place(lock);
    atomic_store(&holders[place].holder, holder);
    atomic_store(&holders[place].since, sonde_now());
    atomic_store(&holders[place].lock, lock);
}

static void report_holder(JNIEnv *env, jobject blocker, uint64_t lock)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jthread holder = sonde_park_holder(env, blocker);
    if (!holder)
        return;
    uint64_t id = sonde_virtual(env, holder);
    if (!id)
        id = sonde_record_tid(sonde_vm_thread_of(env, holder));
    sonde_thread *me = id && !is_reported(lock, id) ? sonde_enter() : NULL;
    if (me && !(sonde_what() & SONDE_WHAT_LOCKS)) {
        sonde_leave(me);
        me = NULL;
    }
    if (me) {
        sonde_event stack = {0};
        uint32_t depth = sonde_stack_of(me, jvmti, holder, &stack);
        jthread after = sonde_park_holder(env, blocker);
        bool still = depth && (*env)->IsSameObject(env, holder, after);
        if (!still) { // released meanwhile, and the holder is elsewhere by now
            depth = 0;
            stack.flags = SONDE_UNDECODABLE;
        }
        sonde_lock_event event = {.time = sonde_now(),
                                  .lock = lock,
                                  .sequence = sonde_lock_sequence(lock),
                                  .started = sonde_vm_object_of(env, holder),
                                  .kind = SONDE_KIND_PARK,
                                  .holder = id,
                                  .type = SONDE_LOCK_OWNER_OBSERVED,
                                  .flags = stack.flags};
        sonde_write_lock(me, depth, &event);
        note_holder(lock, still ? id : 0);
        (*env)->DeleteLocalRef(env, after);
        sonde_leave(me);
    }
    (*env)->DeleteLocalRef(env, holder);
}

// ---- what is known of the class only when there is one of it

static _Atomic uint32_t prepared; // 1: by another thread just now; 2: done
static jfieldID state_field, timeout_field;
static jint parking, timed_parking; // 21 to 23 have one state for both

static jint constant(JNIEnv *env, jclass class, const char *name, jint otherwise)
{
    jfieldID field = (*env)->GetStaticFieldID(env, class, name, "I");
    (*env)->ExceptionClear(env);
    return field ? (*env)->GetStaticIntField(env, class, field) : otherwise;
}

static void find_waker(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jint count = 0;
    jthread *threads = NULL;
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
        return;
    for (jint i = 0; i < count; i++) {
        jvmtiThreadInfo info;
        memset(&info, 0, sizeof info);
        if ((*jvmti)->GetThreadInfo(jvmti, threads[i], &info) == 0) {
            if (info.name && strcmp(info.name, "VirtualThread-unblocker") == 0)
                sonde_virtual_waker_is(sonde_record_tid(sonde_vm_thread_of(env, threads[i])));
            (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
            (*env)->DeleteLocalRef(env, info.thread_group);
            (*env)->DeleteLocalRef(env, info.context_class_loader);
        }
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

static bool prepare(JNIEnv *env, jthread thread)
{
    uint32_t none = 0;
    if (atomic_load_explicit(&prepared, memory_order_acquire) == 2)
        return state_field;
    if (!atomic_compare_exchange_strong(&prepared, &none, 1))
        return false;
    jclass class = (*env)->GetObjectClass(env, thread);
    timeout_field = (*env)->GetFieldID(env, class, "timeout", "J");
    (*env)->ExceptionClear(env);
    parking = constant(env, class, "PARKING", -1);
    timed_parking = constant(env, class, "TIMED_PARKING", parking);
    jfieldID state = (*env)->GetFieldID(env, class, "state", "I");
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, class);
    find_waker(env);
    state_field = parking >= 0 ? state : NULL;
    atomic_store_explicit(&prepared, 2, memory_order_release);
    return state_field;
}

// ---- events

// A thread that parks without a blocker may sleep, or wait for a file: that is not attributed to
// any thread.
#define LOOKED_AT 12
static bool waits_for_nobody(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jvmtiFrameInfo frames[LOOKED_AT];
    jint count = 0;
    bool nobody = false;
    if ((*jvmti)->GetStackTrace(jvmti, NULL, 0, LOOKED_AT, frames, &count))
        return true;
    for (jint i = 0; i < count && !nobody; i++) {
        jclass class = NULL;
        char *signature = NULL, *name = NULL;
        if ((*jvmti)->GetMethodDeclaringClass(jvmti, frames[i].method, &class))
            continue;
        if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == 0 &&
            (*jvmti)->GetMethodName(jvmti, frames[i].method, &name, NULL, NULL) == 0)
            nobody = strcmp(signature, "Lsun/nio/ch/Poller;") == 0 ||
                     (strcmp(signature, "Ljava/lang/VirtualThread;") == 0 &&
                      strncmp(name, "sleep", strlen("sleep")) == 0);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
        (*env)->DeleteLocalRef(env, class);
    }
    return nobody;
}

static void parks(JNIEnv *env, jthread thread, bool timed)
{
    jobject blocker = sonde_park_blocker(env, thread);
    uint64_t lock = sonde_park_lock(thread, blocker), until = 0;
    if (timed && timeout_field)
        until = sonde_now() + (uint64_t)(*env)->GetLongField(env, thread, timeout_field);
    if (lock && (blocker || !waits_for_nobody(env)) &&
        keep(sonde_virtual(env, thread), lock, until)) {
        sonde_lock_wait_begins(env, thread, blocker, lock, SONDE_KIND_PARK);
        report_holder(env, blocker, lock);
    }
    (*env)->DeleteLocalRef(env, blocker);
}

static void JNICALL on_leaves(jvmtiEnv *jvmti, ...)
{
    va_list more;
    va_start(more, jvmti);
    JNIEnv *env = va_arg(more, JNIEnv *);
    jthread thread = va_arg(more, jthread);
    va_end(more);
    sonde_lock_carrier_left();
    if (!atomic_load_explicit(&sonde.generation, memory_order_relaxed) || !prepare(env, thread))
        return;
    jint state = (*env)->GetIntField(env, thread, state_field);
    if (state == parking || state == timed_parking)
        parks(env, thread, state != parking);
}

static void JNICALL on_takes(jvmtiEnv *jvmti, ...)
{
    va_list more;
    va_start(more, jvmti);
    JNIEnv *env = va_arg(more, JNIEnv *);
    jthread thread = va_arg(more, jthread);
    va_end(more);
    if (!prepare(env, thread))
        return;
    uint64_t number = sonde_virtual(env, thread), until = 0, lock = take(number, &until);
    sonde_lock_carrier_taken(number);
    if (!lock)
        return;
    // One that could not leave goes on parking, by its carrier.
    jint state = (*env)->GetIntField(env, thread, state_field);
    bool stays = state == parking || state == timed_parking;
    bool gave_up = stays || (until && sonde_now() >= until);
    if (!gave_up)
        note_holder(lock, sonde_find_waiter(key_of(lock)) ? number : 0);
    sonde_lock_wait_ends(env, thread, lock, SONDE_KIND_PARK, gave_up);
}

// ---- beginning and end

static bool set(const char *event, jvmtiExtensionEvent callback)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jint count = 0;
    jvmtiExtensionEventInfo *events = NULL;
    bool found = false;
    if ((*jvmti)->GetExtensionEvents(jvmti, &count, &events))
        return false;
    for (jint i = 0; i < count; i++) {
        jint index = events[i].extension_event_index;
        jvmtiEventMode mode = callback ? JVMTI_ENABLE : JVMTI_DISABLE;
        if (strcmp(events[i].id, event) == 0)
            found = (*jvmti)->SetExtensionEventCallback(jvmti, index, callback) == 0 &&
                    // Where they are enabled by their callback alone, it does no harm.
                    (*jvmti)->SetEventNotificationMode(jvmti, mode, (jvmtiEvent)index, NULL) == 0;
        for (jint k = 0; k < events[i].param_count; k++)
            (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params[k].name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].params);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].id);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)events[i].short_description);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)events);
    return found;
}

static bool followed;
static const char leaves[] = "com.sun.hotspot.events.VirtualThreadUnmount";
static const char takes[] = "com.sun.hotspot.events.VirtualThreadMount";

bool sonde_virtual_followed(void) { return followed; }

void sonde_virtual_parks_start(void)
{
    forget_all();
    memset((void *)holders, 0, sizeof holders);
    if (!sonde_virtual_supported())
        return;
    followed = set(takes, on_takes) && set(leaves, on_leaves);
}

void sonde_virtual_parks_stop(void)
{
    if (!sonde_virtual_supported())
        return;
    followed = false;
    set(leaves, NULL);
    set(takes, NULL);
}
