#define _GNU_SOURCE
#include "hotspot/locks/virtual_threads.h"

#include "core/session/name_records.h"

#include <stdio.h>
#include <string.h>

static jclass virtual_class; // NULL before 21
static jfieldID number_field;

void sonde_virtual_find(JNIEnv *env)
{
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    number_field = thread ? (*env)->GetFieldID(env, thread, "tid", "J") : NULL;
    // Not VirtualThread itself: to look for it would start its threads.
    jclass found = (*env)->FindClass(env, "java/lang/BaseVirtualThread");
    (*env)->ExceptionClear(env);
    if (found && number_field && !virtual_class)
        virtual_class = (*env)->NewGlobalRef(env, found);
    (*env)->DeleteLocalRef(env, found);
    (*env)->DeleteLocalRef(env, thread);
}

bool sonde_virtual_supported(void) { return virtual_class; }

uint64_t sonde_virtual(JNIEnv *env, jthread thread)
{
    if (!virtual_class || !thread || !(*env)->IsInstanceOf(env, thread, virtual_class))
        return 0;
    return SONDE_VIRTUAL | (uint64_t)(*env)->GetLongField(env, thread, number_field);
}

void sonde_virtual_report(sonde_thread *me, jvmtiEnv *jvmti, JNIEnv *env, jthread thread,
                          uint64_t number)
{
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    if ((*jvmti)->GetThreadInfo(jvmti, thread, &info))
        return;
    if (info.name && *info.name) // else the recorder calls it by its number
        sonde_write_thread(&me->ring, number, info.name, 1);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
}

// The capability that comes next after the last one of 11's interface: headers of 17 do not name it
// (can_support_virtual_threads, 21).
void sonde_virtual_request(jvmtiEnv *jvmti, jvmtiCapabilities *wanted)
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

// ---- names: a releasing virtual thread is known by its number alone

// The same is true of its event, which is the next after the last one of 17.
#define VIRTUAL_THREAD_START ((jvmtiEvent)(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC + 1))

static void JNICALL on_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    sonde_thread *me = sonde_enter();
    if (!me)
        return;
    sonde_virtual_report(me, jvmti, env, thread, sonde_virtual(env, thread));
    sonde_leave(me);
}

jvmtiError sonde_virtual_listen(jvmtiEnv *jvmti, const jvmtiEventCallbacks *known)
{
    union {
        jvmtiEventCallbacks known;
        jvmtiEventReserved each[128];
    } all;
    memset(&all, 0, sizeof all);
    all.known = *known;
    const jvmtiEventThreadStart start = on_start;
    memcpy(&all.each[VIRTUAL_THREAD_START - JVMTI_MIN_EVENT_TYPE_VAL], &start, sizeof start);
    return (*jvmti)->SetEventCallbacks(jvmti, &all.known, sizeof all);
}

void sonde_virtual_notify(jvmtiEnv *jvmti, jvmtiEventMode mode)
{
    if (virtual_class)
        (*jvmti)->SetEventNotificationMode(jvmti, mode, VIRTUAL_THREAD_START, NULL);
}
