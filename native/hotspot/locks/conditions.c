#include "hotspot/locks/conditions.h"

#include "hotspot/locks/lock_events.h"

#include <stddef.h>

// A notified thread is put at the end of the queue of the lock (AbstractQueuedSynchronizer, 17 to
// 25), still asleep.
static jclass condition, lock_class;
static jfieldID outer_field, tail_field, before_field, waiter_field;

#define QUEUED "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$Node;"
#define MAX_QUEUE 256

static jclass global_class(JNIEnv *env, const char *name)
{
    jclass found = (*env)->FindClass(env, name);
    jclass global = found ? (*env)->NewGlobalRef(env, found) : NULL;
    (*env)->DeleteLocalRef(env, found);
    (*env)->ExceptionClear(env);
    return global;
}

static jfieldID field(JNIEnv *env, jclass of, const char *name, const char *type)
{
    jfieldID found = of ? (*env)->GetFieldID(env, of, name, type) : NULL;
    (*env)->ExceptionClear(env);
    return found;
}

void sonde_conditions_find(JNIEnv *env)
{
    lock_class = global_class(env, "java/util/concurrent/locks/AbstractQueuedSynchronizer");
    condition =
        global_class(env, "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject");
    outer_field =
        field(env, condition, "this$0", "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;");
    tail_field = field(env, lock_class, "tail", QUEUED);
    jclass node =
        (*env)->FindClass(env, "java/util/concurrent/locks/AbstractQueuedSynchronizer$Node");
    (*env)->ExceptionClear(env);
    before_field = field(env, node, "prev", QUEUED);
    waiter_field = field(env, node, "waiter", "Ljava/lang/Thread;");
    (*env)->DeleteLocalRef(env, node);
}

jobject sonde_condition_lock(JNIEnv *env, jobject blocker)
{
    if (!blocker || !outer_field || !(*env)->IsInstanceOf(env, blocker, condition))
        return NULL;
    return (*env)->GetObjectField(env, blocker, outer_field);
}

jobject sonde_lock_with_conditions(JNIEnv *env, jobject blocker)
{
    if (!blocker || !lock_class || !(*env)->IsInstanceOf(env, blocker, lock_class))
        return NULL;
    return (*env)->NewLocalRef(env, blocker);
}

const void *sonde_condition_key(jthread thread)
{
    return (const void *)(uintptr_t)sonde_lock_of(thread, 0);
}

typedef struct {
    const void *threads[MAX_QUEUE];
    uint32_t count;
} queue;

// From its end: those that were put there last are who was notified last.
static void read_queue(JNIEnv *env, jobject lock, queue *out)
{
    jobject node = (*env)->GetObjectField(env, lock, tail_field);
    for (uint32_t i = 0; node && i < MAX_QUEUE; i++) {
        jobject thread = (*env)->GetObjectField(env, node, waiter_field);
        if (thread)
            out->threads[out->count++] = sonde_condition_key(thread);
        jobject before = (*env)->GetObjectField(env, node, before_field);
        (*env)->DeleteLocalRef(env, thread);
        (*env)->DeleteLocalRef(env, node);
        node = before;
    }
    (*env)->DeleteLocalRef(env, node);
}

static bool is_queued(const sonde_condition_waiter *waiter, void *arg)
{
    const queue *in = arg;
    for (uint32_t i = 0; i < in->count; i++)
        if (in->threads[i] == waiter->key)
            return true;
    return false;
}

sonde_notified sonde_conditions_notify(JNIEnv *env, jobject lock, uint64_t number, const void *key,
                                       uint64_t now)
{
    if (!tail_field || !before_field || !waiter_field || !sonde_notice_has_waiter(number))
        return (sonde_notified){0};
    queue in;
    in.count = 0;
    read_queue(env, lock, &in);
    return sonde_notify(number, key, now, is_queued, &in);
}
