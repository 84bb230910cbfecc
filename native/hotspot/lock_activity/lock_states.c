#include "hotspot/lock_activity/lock_states.h"

#include <stddef.h>

#define LOCKS "java/util/concurrent/locks/"
#define EXCLUSIVE 0xffff // the part of a read-write lock's state that counts the writer's holds

static const struct {
    const char *class, *type; // of its field `sync`
    bool reads;               // is taken by a writer alone
} known[] = {
    {LOCKS "ReentrantLock", "L" LOCKS "ReentrantLock$Sync;", false},
    {LOCKS "ReentrantReadWriteLock$WriteLock", "L" LOCKS "ReentrantReadWriteLock$Sync;", false},
    {LOCKS "ReentrantReadWriteLock$ReadLock", "L" LOCKS "ReentrantReadWriteLock$Sync;", true},
};
#define KNOWN (sizeof known / sizeof *known)

static jclass classes[KNOWN];
static jfieldID sync_of[KNOWN];
static jclass thread_class;
static jmethodID holds_lock;
static jfieldID state_field, owner_field;

static jfieldID field(JNIEnv *env, const char *of, const char *name, const char *type)
{
    jclass class = (*env)->FindClass(env, of);
    jfieldID found = class ? (*env)->GetFieldID(env, class, name, type) : NULL;
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, class);
    return found;
}

static jclass find(JNIEnv *env, const char *name)
{
    jclass class = (*env)->FindClass(env, name);
    (*env)->ExceptionClear(env);
    jclass found = class ? (*env)->NewGlobalRef(env, class) : NULL;
    (*env)->DeleteLocalRef(env, class);
    return found;
}

bool sonde_lock_states_prepare(JNIEnv *env)
{
    if (holds_lock)
        return true;
    state_field = field(env, LOCKS "AbstractQueuedSynchronizer", "state", "I");
    owner_field = field(env, LOCKS "AbstractOwnableSynchronizer", "exclusiveOwnerThread",
                        "Ljava/lang/Thread;");
    for (size_t i = 0; i < KNOWN; i++) {
        sync_of[i] = field(env, known[i].class, "sync", known[i].type);
        classes[i] = sync_of[i] ? find(env, known[i].class) : NULL;
    }
    thread_class = find(env, "java/lang/Thread");
    if (thread_class)
        holds_lock =
            (*env)->GetStaticMethodID(env, thread_class, "holdsLock", "(Ljava/lang/Object;)Z");
    (*env)->ExceptionClear(env);
    return holds_lock;
}

bool sonde_monitor_is_mine(JNIEnv *env, jobject object)
{
    jboolean mine = (*env)->CallStaticBooleanMethod(env, thread_class, holds_lock, object);
    (*env)->ExceptionClear(env);
    return mine;
}

sonde_lock_state sonde_lock_state_of(JNIEnv *env, jobject lock, jobject thread)
{
    sonde_lock_state found = {0};
    size_t i = 0;
    while (i < KNOWN && !(classes[i] && (*env)->IsInstanceOf(env, lock, classes[i])))
        i++;
    if (i < KNOWN)
        found.sync = (*env)->GetObjectField(env, lock, sync_of[i]);
    if (!found.sync || !state_field || !owner_field)
        return found;
    jint state = (*env)->GetIntField(env, found.sync, state_field);
    jobject owner = (*env)->GetObjectField(env, found.sync, owner_field);
    found.mine = owner && (*env)->IsSameObject(env, owner, thread);
    found.taken = (known[i].reads ? state & EXCLUSIVE : state) != 0;
    (*env)->DeleteLocalRef(env, owner);
    return found;
}
