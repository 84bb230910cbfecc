#define _GNU_SOURCE
#include "hotspot/locks/park_hooks.h"

#include "core/base/clock.h"
#include "core/hooks/preexisting_table.h"
#include "core/hooks/waiter_table.h"
#include "hotspot/locks/conditions.h"
#include "hotspot/locks/lock_events.h"
#include "hotspot/locks/thread_wait.h"
#include "hotspot/locks/wait_registry.h"
#include "hotspot/vm/vm.h"

#include <errno.h>
#include <string.h>
#include <time.h>

typedef void JNICALL park_t(JNIEnv *, jobject, jboolean absolute, jlong time);
typedef void JNICALL unpark_t(JNIEnv *, jobject, jobject thread);

static park_t *vm_park;
static unpark_t *vm_unpark;
static jclass unsafe;
static jfieldID blocker_field;
static jclass ownable;
static jfieldID owner_field;
static bool hooked;

jobject sonde_park_blocker(JNIEnv *env, jthread thread)
{
    return blocker_field && thread ? (*env)->GetObjectField(env, thread, blocker_field) : NULL;
}

uint64_t sonde_park_lock(jthread thread, jobject blocker)
{
    return blocker ? sonde_lock_of(blocker, SONDE_IS_PARK) : sonde_lock_of(thread, SONDE_IS_BARE);
}

jthread sonde_park_holder(JNIEnv *env, jobject blocker)
{
    if (!blocker || !ownable || !(*env)->IsInstanceOf(env, blocker, ownable))
        return NULL;
    return (*env)->GetObjectField(env, blocker, owner_field);
}

static const void *key_of(uint64_t lock) { return (const void *)(uintptr_t)lock; }

// ---- threads that were woken and may find the lock taken again
//
// A queued thread that is awake has taken its blocker back. The thread that releases then wakes the
// same thread once more, and no object shows for what: but others in the queue wait for that
// release. So the lock for which each thread was woken last is kept, until it parks again, or
// releases that itself. (By identity hashes; of two threads in one place the older is forgotten.)

#define WOKEN_BITS 12
static _Atomic uint64_t woken[1u << WOKEN_BITS];

static _Thread_local uint32_t my_hash __attribute__((tls_model("initial-exec")));

static _Atomic uint64_t *woken_place(uint32_t hash)
{
    return &woken[hash & ((1u << WOKEN_BITS) - 1)];
}

static void is_woken(uint64_t me, uint64_t lock)
{
    my_hash = (uint32_t)me;
    atomic_store(woken_place(my_hash), (uint64_t)my_hash << 32 | (uint32_t)lock);
}

static void is_not_woken(void)
{
    uint64_t word = atomic_load_explicit(woken_place(my_hash), memory_order_relaxed);
    if (my_hash && word >> 32 == my_hash)
        atomic_store(woken_place(my_hash), 0);
}

static uint64_t woken_for(uint64_t thread)
{
    uint64_t word = atomic_load(woken_place((uint32_t)thread));
    return word && word >> 32 == (uint32_t)thread ? (uint32_t)word | SONDE_IS_PARK : 0;
}

// ---- waiters

static bool timed_out(jboolean absolute, jlong time, uint64_t since)
{
    if (absolute)
        return sonde_clock(CLOCK_REALTIME) / 1000000u >= (uint64_t)time;
    return time > 0 && sonde_now() - since >= (uint64_t)time;
}

static void JNICALL on_park(JNIEnv *env, jobject self, jboolean absolute, jlong time)
{
    jthread me = NULL;
    sonde_lock_carrier_left(); // who parks waits for no monitor
    if (!atomic_load_explicit(&sonde.generation, memory_order_relaxed) ||
        (*sonde_locks_jvmti)->GetCurrentThread(sonde_locks_jvmti, &me) || !me) {
        vm_park(env, self, absolute, time);
        return;
    }
    jobject blocker = sonde_park_blocker(env, me);
    uint64_t lock = sonde_park_lock(me, blocker), since = sonde_now();
    bool named = blocker;
    const void *key = sonde_condition_key(me);
    jobject of = sonde_condition_lock(env, blocker);
    uint64_t wanted = of ? sonde_lock_of(of, SONDE_IS_PARK) : 0;
    sonde_condition_waits += of != NULL;
    (*env)->DeleteLocalRef(env, of);
    is_not_woken();
    bool seen = sonde_wait_begin(key_of(lock), lock, SONDE_KIND_PARK);
    sonde_lock_wait_begins(env, me, blocker, lock, SONDE_KIND_PARK);
    (*env)->DeleteLocalRef(env, blocker); // not kept alive by a thread that sleeps
    uint32_t place = sonde_wait_registry_add(lock), noticed = SONDE_NO_NOTICE;
    if (wanted)
        noticed = sonde_notice_wait(
            &(sonde_condition_waiter){.condition = lock, .lock = wanted, .key = key});
    vm_park(env, self, absolute, time);
    sonde_notice notice = sonde_notice_take(noticed, key);
    sonde_wait_registry_remove(place);
    if (seen)
        sonde_wait_end(key_of(lock));
    bool gave_up = !notice.time && timed_out(absolute, time, since);
    if (named && !gave_up)
        is_woken((uint64_t)(uintptr_t)key, notice.time ? wanted : lock);
    if (notice.time) {
        blocker = sonde_park_blocker(env, me);
        of = sonde_condition_lock(env, blocker);
        sonde_lock_notified(env, me, of, lock, SONDE_KIND_PARK, wanted, SONDE_KIND_PARK, &notice);
        (*env)->DeleteLocalRef(env, of);
        (*env)->DeleteLocalRef(env, blocker);
    } else {
        sonde_lock_wait_ends(env, me, lock, SONDE_KIND_PARK, gave_up);
    }
    (*env)->DeleteLocalRef(env, me);
}

// ---- threads that wake them

typedef struct {
    uint64_t lock, sequence;
} release;

// Numbers the release of what a thread waits for; the number is taken before it happens.
static release next_release(JNIEnv *env, uint64_t lock, uint64_t now)
{
    sonde_waiter *entry = lock ? sonde_find_waiter(key_of(lock)) : NULL;
    if (!entry)
        return (release){0, 0};
    uint32_t owner = (uint32_t)((uintptr_t)env >> 4);
    if (sonde_is_same_hold(entry, owner, now))
        return (release){0, 0};
    sonde_note_release(entry, owner, now);
    return (release){lock, sonde_lock_sequence(lock)};
}

// What is released with the unparking of a thread that parks for `lock`. A notified thread sleeps
// on until the lock of the condition is released, and then is next in line for that: others in the
// line wait for the same release.
static unsigned releases(JNIEnv *env, jthread thread, jobject blocker, uint64_t lock, uint64_t now,
                         release *of)
{
    unsigned count = 0;
    jobject outer = sonde_condition_lock(env, blocker);
    jobject owned = outer ? outer : sonde_lock_with_conditions(env, blocker);
    uint64_t owned_lock = owned ? sonde_lock_of(owned, SONDE_IS_PARK) : 0;
    sonde_notified found = {0};
    if (owned_lock)
        found = sonde_conditions_notify(env, owned, owned_lock, sonde_condition_key(thread), now);
    (*env)->DeleteLocalRef(env, owned);
    for (uint32_t i = 0; i < found.count; i++)
        of[count++] = (release){found.exits[i].condition, found.exits[i].sequence};
    if (!outer && !found.contends) {
        of[count++] = next_release(env, lock, now);
        return count;
    }
    if (outer && !found.before && !found.next)
        of[count++] = next_release(env, lock, now);
    of[count++] = found.before || found.contends
                      ? (release){owned_lock, sonde_lock_sequence(owned_lock)}
                      : next_release(env, owned_lock, now);
    return count;
}

static void JNICALL on_unpark(JNIEnv *env, jobject self, jobject thread)
{
    if (!thread || !sonde_anybody_waits() ||
        !atomic_load_explicit(&sonde.generation, memory_order_relaxed)) {
        vm_unpark(env, self, thread);
        return;
    }
    jobject blocker = sonde_park_blocker(env, thread);
    uint64_t now = sonde_now();
    uint64_t lock = sonde_park_lock(thread, blocker);
    if (!blocker && !sonde_find_waiter(key_of(lock)))
        lock = woken_for(lock);
    release of[2 + SONDE_MAX_CONDITIONS];
    unsigned count = releases(env, thread, blocker, lock, now, of);
    (*env)->DeleteLocalRef(env, blocker);
    vm_unpark(env, self, thread);
    for (unsigned i = 0; i < count; i++)
        if (of[i].lock) {
            is_not_woken();
            sonde_end_preexisting_wait(key_of(of[i].lock));
            sonde_lock_released(env, of[i].lock, SONDE_KIND_PARK, of[i].sequence, now);
        }
}

// ---- in their place: the class registers its native methods itself, and is made to do so again
// while our function replaces the one that does it.

static jint(JNICALL *vm_register)(JNIEnv *, jclass, const JNINativeMethod *, jint);

static jint JNICALL on_register(JNIEnv *env, jclass class, const JNINativeMethod *methods, jint n)
{
    if (!(*env)->IsSameObject(env, class, unsafe))
        return vm_register(env, class, methods, n);
    for (jint i = 0; i < n; i++) {
        if (strcmp(methods[i].name, "park") == 0)
            vm_park = (park_t *)methods[i].fnPtr;
        if (strcmp(methods[i].name, "unpark") == 0)
            vm_unpark = (unpark_t *)methods[i].fnPtr;
    }
    return 0;
}

static void find_originals(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_locks_jvmti;
    jmethodID registers = (*env)->GetStaticMethodID(env, unsafe, "registerNatives", "()V");
    jniNativeInterface *table = NULL;
    if (!registers || (*jvmti)->GetJNIFunctionTable(jvmti, &table))
        return;
    vm_register = table->RegisterNatives;
    table->RegisterNatives = on_register;
    if ((*jvmti)->SetJNIFunctionTable(jvmti, table) == 0) {
        (*env)->CallStaticVoidMethod(env, unsafe, registers);
        table->RegisterNatives = vm_register;
        (*jvmti)->SetJNIFunctionTable(jvmti, table);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)table);
}

static jclass global_class(JNIEnv *env, const char *name)
{
    jclass found = (*env)->FindClass(env, name);
    jclass global = found ? (*env)->NewGlobalRef(env, found) : NULL;
    (*env)->DeleteLocalRef(env, found);
    return global;
}

static void find_all(JNIEnv *env)
{
    unsafe = global_class(env, "jdk/internal/misc/Unsafe");
    (*env)->ExceptionClear(env);
    sonde_conditions_find(env);
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    if (thread)
        blocker_field = (*env)->GetFieldID(env, thread, "parkBlocker", "Ljava/lang/Object;");
    (*env)->DeleteLocalRef(env, thread);
    (*env)->ExceptionClear(env);
    if (unsafe)
        find_originals(env);
    (*env)->ExceptionClear(env);
}

// To register methods of a class of the platform from outside makes the VM print a warning, unless
// a method of the platform itself has called who does it (jni.cpp, 17 to 25). So it is done in the
// event of a wait, which Object.wait(long, int) leads to by another method of Object.
static _Thread_local struct {
    park_t *park;
    unpark_t *unpark;
    bool waits, done;
} to_register __attribute__((tls_model("initial-exec")));

bool sonde_parks_register(JNIEnv *env)
{
    if (!to_register.waits)
        return false;
    JNINativeMethod methods[] = {{"park", "(ZJ)V", (void *)to_register.park},
                                 {"unpark", "(Ljava/lang/Object;)V", (void *)to_register.unpark}};
    if (!to_register.done)
        to_register.done = (*env)->RegisterNatives(env, unsafe, methods, 2) == 0;
    (*env)->ExceptionClear(env);
    return true;
}

static bool put(JNIEnv *env, park_t *park, unpark_t *unpark)
{
    jclass object = (*env)->FindClass(env, "java/lang/Object");
    jmethodID wait = object ? (*env)->GetMethodID(env, object, "wait", "(JI)V") : NULL;
    jobject any = wait ? (*env)->AllocObject(env, object) : NULL;
    to_register.park = park;
    to_register.unpark = unpark;
    to_register.done = false;
    if (any && (*env)->MonitorEnter(env, any) == 0) {
        to_register.waits = true;
        (*env)->CallVoidMethod(env, any, wait, (jlong)1, (jint)0);
        to_register.waits = false;
        (*env)->ExceptionClear(env);
        (*env)->MonitorExit(env, any);
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, any);
    (*env)->DeleteLocalRef(env, object);
    return to_register.done;
}

static void find_ownable(JNIEnv *env)
{
    jclass class = (*env)->FindClass(env, "java/util/concurrent/locks/AbstractOwnableSynchronizer");
    if (class)
        owner_field = (*env)->GetFieldID(env, class, "exclusiveOwnerThread", "Ljava/lang/Thread;");
    (*env)->ExceptionClear(env);
    if (class && owner_field)
        ownable = (*env)->NewGlobalRef(env, class);
    (*env)->DeleteLocalRef(env, class);
}

void sonde_parks_start(JNIEnv *env)
{
    if (!ownable)
        find_ownable(env);
    if (!unsafe)
        find_all(env);
    if (vm_park && vm_unpark && blocker_field) // else there are monitors alone
        hooked = put(env, on_park, on_unpark);
}

void sonde_parks_stop(JNIEnv *env)
{
    if (hooked)
        put(env, vm_park, vm_unpark);
    hooked = false;
}
