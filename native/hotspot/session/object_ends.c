#define _GNU_SOURCE
#include "hotspot/session/object_ends.h"

#include "core/base/clock.h"
#include "core/session/records.h"
#include "hotspot/vm/vm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// An environment for each session, because its tags end with it.
static _Atomic(jvmtiEnv *) environment;
static _Atomic uint32_t users; // of the environment: it is not disposed of while there are any
static _Atomic uint64_t last_id;

// Ends that are not written yet: one collection may report more than a ring has room for.
#define MAX_WAITING 16384
static struct {
    atomic_flag busy;
    _Atomic uint32_t count;
    uint64_t lost;
    uint64_t ids[MAX_WAITING];
} waiting = {.busy = ATOMIC_FLAG_INIT};

static bool waiting_acquire(void)
{
    return !atomic_flag_test_and_set_explicit(&waiting.busy, memory_order_acquire);
}

static void waiting_release(void)
{
    atomic_flag_clear_explicit(&waiting.busy, memory_order_release);
}

// The caller has acquired what waits.
static void write_waiting(sonde_thread *thread)
{
    uint32_t count = atomic_load_explicit(&waiting.count, memory_order_relaxed);
    uint64_t now = sonde_now();
    while (count && sonde_write_object_end(thread, now, waiting.ids[count - 1]))
        count--;
    atomic_store_explicit(&waiting.count, count, memory_order_relaxed);
    for (; waiting.lost; waiting.lost--)
        sonde_object_end_lost();
}

// In a thread of the VM, which calls it for one object after the other. It may call nothing of JNI
// and hardly anything of JVMTI here.
static void JNICALL on_collected(jvmtiEnv *jvmti, jlong tag)
{
    (void)jvmti;
    int saved = errno;
    while (!waiting_acquire()) // a thread that writes what waits: some microseconds
        usleep(10);
    uint32_t count = atomic_load_explicit(&waiting.count, memory_order_relaxed);
    if (count < MAX_WAITING) {
        waiting.ids[count] = (uint64_t)tag;
        atomic_store_explicit(&waiting.count, count + 1, memory_order_relaxed);
    } else {
        waiting.lost++;
    }
    sonde_thread *me = sonde_enter();
    if (me) {
        uint64_t began = sonde_thread_cpu();
        write_waiting(me);
        sonde_object_time_spent(me, began);
        sonde_leave(me);
    }
    waiting_release();
    errno = saved;
}

uint64_t sonde_object_ends_follow(jobject object)
{
    uint64_t id = 0;
    atomic_fetch_add(&users, 1);
    jvmtiEnv *jvmti = atomic_load(&environment);
    if (jvmti) {
        id = atomic_fetch_add(&last_id, 1) + 1;
        if ((*jvmti)->SetTag(jvmti, object, (jlong)id))
            id = 0;
    }
    atomic_fetch_sub(&users, 1);
    return id;
}

void sonde_object_ends_flush(sonde_thread *thread)
{
    if (!atomic_load_explicit(&waiting.count, memory_order_relaxed) || !waiting_acquire())
        return;
    write_waiting(thread);
    waiting_release();
}

int sonde_object_ends_start(void)
{
    jvmtiEnv *jvmti = NULL;
    if ((*sonde_vm.vm)->GetEnv(sonde_vm.vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return ENOTSUP;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_tag_objects = 1;
    wanted.can_generate_object_free_events = 1;
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.ObjectFree = on_collected;
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL)) {
        (*jvmti)->DisposeEnvironment(jvmti);
        return ENOTSUP;
    }
    atomic_store_explicit(&waiting.count, 0, memory_order_relaxed);
    waiting.lost = 0;
    atomic_store(&environment, jvmti);
    return 0;
}

void sonde_object_ends_stop(void)
{
    jvmtiEnv *jvmti = atomic_exchange(&environment, NULL);
    if (!jvmti)
        return;
    while (atomic_load(&users))
        usleep(100);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_OBJECT_FREE, NULL);
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_object_ends_flush(me);
        sonde_leave(me);
    }
    (*jvmti)->DisposeEnvironment(jvmti);
}
