#define _GNU_SOURCE
#include "hotspot/session/jvmti_events.h"

#include "core/base/clock.h"
#include "core/sampling/cpu_timers.h"
#include "core/session/name_records.h"
#include "hotspot/names/methods.h"
#include "hotspot/session/java_api.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"

#include <errno.h>
#include <string.h>

// ---- classes: AsyncGetCallTrace finds only methods that have an id, and nothing at all without
// a listener for the loading of classes (forte.cpp, 17 to 25).

static void give_ids(jvmtiEnv *jvmti, jclass class)
{
    jint count;
    jmethodID *methods;
    if ((*jvmti)->GetClassMethods(jvmti, class, &count, &methods) == 0)
        (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
}

static void JNICALL on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    (void)jvmti;
    (void)env;
    (void)thread;
    (void)class;
}

static void JNICALL on_class_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    (void)thread;
    give_ids(jvmti, class);
    sonde_java_api_prepared(jvmti, env, class);
}

static void give_ids_to_all(jvmtiEnv *jvmti, JNIEnv *env)
{
    jint count;
    jclass *classes;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &classes))
        return;
    for (jint i = 0; i < count; i++) {
        give_ids(jvmti, classes[i]);
        (*env)->DeleteLocalRef(env, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
}

// Only with a listener do the compilers describe their code between safepoints, too
// (DebugNonSafepoints): else lines and inlined methods would be those of the next safepoint.
static void JNICALL on_compiled(jvmtiEnv *jvmti, jmethodID method, jint size, const void *address,
                                jint length, const jvmtiAddrLocationMap *map, const void *info)
{
    (void)jvmti;
    (void)method;
    (void)size;
    (void)address;
    (void)length;
    (void)map;
    (void)info;
}

// ---- threads

static void report_name(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, uint64_t object,
                        sonde_thread *to, uint64_t since)
{
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    if (!object || (*jvmti)->GetThreadInfo(jvmti, thread, &info))
        return;
    sonde_write_thread(&to->ring, object, info.name, since);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
}

static void JNICALL on_thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    sonde_cpu_timers_add_self();
    sonde_thread *me = sonde_enter();
    if (!me)
        return;
    me->slot->thread_object = sonde_vm_own_object();
    me->named = true;
    report_name(jvmti, env, thread, me->slot->thread_object, me, me->slot->claimed_ns);
    sonde_leave(me);
}

void sonde_events_report_names(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    jint count;
    jthread *threads;
    sonde_thread *notes = sonde_notes_enter();
    if (!notes)
        return;
    if ((*jvmti)->GetAllThreads(jvmti, &count, &threads) == 0) {
        for (jint i = 0; i < count; i++) {
            uint64_t object = sonde_vm_object_of(env, threads[i]);
            report_name(jvmti, env, threads[i], object, notes, sonde_now());
            (*env)->DeleteLocalRef(env, threads[i]);
        }
        (*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
    }
    sonde_notes_leave();
}

// ---- collections: in the VM's own thread, while all Java threads are stopped

static uint64_t collection_began;

static void JNICALL on_collection_start(jvmtiEnv *jvmti)
{
    (void)jvmti;
    collection_began = sonde_now();
}

static void JNICALL on_collection_finish(jvmtiEnv *jvmti)
{
    (void)jvmti;
    sonde_thread *me = sonde_enter();
    if (!me)
        return;
    if (collection_began)
        sonde_write_mark(me, "GC pause", collection_began, sonde_now() - collection_began);
    collection_began = 0;
    sonde_leave(me);
}

// ---- the end

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    (void)jvmti;
    sonde_methods_describe(env); // what was seen last
    atomic_store(&sonde_vm.ended, true);
}

static const jvmtiEvent enabled_events[] = {
    JVMTI_EVENT_CLASS_LOAD,
    JVMTI_EVENT_CLASS_PREPARE,
    JVMTI_EVENT_COMPILED_METHOD_LOAD,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_GARBAGE_COLLECTION_START,
    JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
    JVMTI_EVENT_VM_DEATH,
};

static jvmtiError notify(jvmtiEventMode mode)
{
    jvmtiError error = 0;
    for (size_t i = 0; i < sizeof enabled_events / sizeof *enabled_events && !error; i++)
        error = (*sonde_vm.jvmti)
                    ->SetEventNotificationMode(sonde_vm.jvmti, mode, enabled_events[i], NULL);
    return error;
}

int sonde_events_start(JNIEnv *env)
{
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_get_source_file_name = 1;
    wanted.can_get_line_numbers = 1;
    wanted.can_generate_compiled_method_load_events = 1;
    wanted.can_generate_garbage_collection_events = 1;
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.ClassLoad = on_class_load;
    callbacks.ClassPrepare = on_class_prepare;
    callbacks.CompiledMethodLoad = on_compiled;
    callbacks.ThreadStart = on_thread_start;
    callbacks.GarbageCollectionStart = on_collection_start;
    callbacks.GarbageCollectionFinish = on_collection_finish;
    callbacks.VMDeath = on_death;
    collection_began = 0;
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) || notify(JVMTI_ENABLE))
        return ENOTSUP;
    give_ids_to_all(jvmti, env);
    return 0;
}

void sonde_events_stop(void) { notify(JVMTI_DISABLE); }
