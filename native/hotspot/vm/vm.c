#define _GNU_SOURCE
#include "hotspot/vm/vm.h"

#include "hotspot/vm/vm_structs.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

sonde_vm_t sonde_vm;

// HotSpot keeps its record of a thread under a pthread key besides its own thread-local variable,
// which lives in a library that was loaded late: to touch that in a thread that never did may
// allocate. The JNI environment is a part of a Java thread's record, and begins with the address of
// the one table of functions. (17 to 25)
static pthread_key_t key;
static ptrdiff_t env_at;
static const void *functions;
// What all records of Java threads begin with. Those of the VM's own threads are other classes,
// some of them too small for an environment.
static const void *class_of_java;
static jfieldID record_field;

// Where a thread notes from where it left Java code, and its state; -1: unknown.
static int64_t anchor_at, state_at;

#define MAX_RECORD_SIZE 8192

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (!strstr(info->dlpi_name, SONDE_LIBJVM))
        return 0;
    *(void **)arg = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

void *sonde_vm_library(void)
{
    void *handle = NULL;
    dl_iterate_phdr(visit, &handle);
    return handle ? handle : RTLD_DEFAULT;
}

JavaVM *sonde_vm_find(void)
{
    jint (*created)(JavaVM **, jsize, jsize *) =
        (jint (*)(JavaVM **, jsize, jsize *))dlsym(sonde_vm_library(), "JNI_GetCreatedJavaVMs");
    JavaVM *vm = NULL;
    jsize count = 0;
    return created && created(&vm, 1, &count) == JNI_OK && count ? vm : NULL;
}

uint64_t sonde_vm_thread_of(JNIEnv *env, jthread thread)
{
    return (uint64_t)(*env)->GetLongField(env, thread, record_field);
}

static bool find_record(JNIEnv *env)
{
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    record_field = thread ? (*env)->GetFieldID(env, thread, "eetop", "J") : NULL;
    jthread me = NULL;
    if (record_field)
        (*sonde_vm.jvmti)->GetCurrentThread(sonde_vm.jvmti, &me);
    if (!me) {
        (*env)->ExceptionClear(env);
        return false;
    }
    const char *record = (const char *)(uintptr_t)sonde_vm_thread_of(env, me);
    (*env)->DeleteLocalRef(env, me);
    (*env)->DeleteLocalRef(env, thread);
    env_at = (const char *)env - record;
    functions = *(const void *const *)env;
    class_of_java = record ? *(const void *const *)record : NULL;
    if (!record || env_at <= 0 || env_at > MAX_RECORD_SIZE)
        return false;
    for (key = 0; key < PTHREAD_KEYS_MAX; key++)
        if (pthread_getspecific(key) == record)
            return true;
    return false;
}

static uint32_t version(jvmtiEnv *jvmti)
{
    char *text = NULL;
    unsigned part[3] = {0, 0, 0};
    if ((*jvmti)->GetSystemProperty(jvmti, "java.vm.version", &text) || !text)
        return 0;
    sscanf(text, "%u.%u.%u", &part[0], &part[1], &part[2]);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)text);
    return part[0] << 24 | (part[1] & 255) << 16 | (part[2] & 255) << 8;
}

static void find_anchor(void)
{
    void *from = sonde_vm_library();
    anchor_at = sonde_field_offset(from, "JavaThread", "_anchor");
    state_at = sonde_field_offset(from, "JavaThread", "_thread_state");
    // In this order in 17 to 25.
    if (sonde_field_offset(from, "JavaFrameAnchor", "_last_Java_sp") !=
            offsetof(sonde_vm_anchor, sp) ||
        sonde_field_offset(from, "JavaFrameAnchor", "_last_Java_pc") !=
            offsetof(sonde_vm_anchor, pc) ||
        sonde_field_offset(from, "JavaFrameAnchor", "_last_Java_fp") !=
            offsetof(sonde_vm_anchor, fp))
        anchor_at = -1;
}

int sonde_vm_open(JavaVM *vm, JNIEnv *env)
{
    sonde_vm.vm = vm;
    *(void **)&sonde_vm.call_trace = dlsym(sonde_vm_library(), "AsyncGetCallTrace");
    if (!sonde_vm.call_trace)
        return ENOSYS; // no HotSpot
    if ((*vm)->GetEnv(vm, (void **)&sonde_vm.jvmti, JVMTI_VERSION_11) != JNI_OK)
        return ENOTSUP;
    sonde_vm.version_hex = version(sonde_vm.jvmti);
    find_anchor();
    if (find_record(env))
        return 0;
    sonde_vm_close();
    return ENOTSUP;
}

void sonde_vm_close(void)
{
    if (sonde_vm.jvmti)
        (*sonde_vm.jvmti)->DisposeEnvironment(sonde_vm.jvmti);
    sonde_vm.jvmti = NULL;
}

JNIEnv *sonde_vm_thread(const void **java_thread)
{
    const char *record = pthread_getspecific(key);
    *java_thread = record;
    if (!record || *(const void *const *)record != class_of_java)
        return NULL;
    JNIEnv *env = (JNIEnv *)(record + env_at);
    return *(const void *const *)env == functions ? env : NULL;
}

sonde_vm_anchor *sonde_vm_anchor_of(const void *java_thread)
{
    return anchor_at < 0 ? NULL : (sonde_vm_anchor *)((char *)(uintptr_t)java_thread + anchor_at);
}

int sonde_vm_state(const void *java_thread)
{
    return state_at < 0 ? 0 : *(const volatile int32_t *)((const char *)java_thread + state_at);
}

// The interpreter leaves the pc out when it calls the VM, and so do stubs of C1's, because it lies
// on the stack just below (make_walkable in frame_x86.cpp puts it in as we do, and it is cleared
// with the rest: 17 to 25). Not before the call was made: then other things are there. Walks of
// releases take it out again: once it is in, walkers begin there, also where compiled code calls a
// release of a monitor and nothing is known of the frame.
bool sonde_vm_make_walkable(const void *java_thread, uintptr_t stack_pointer)
{
    sonde_vm_anchor *anchor = sonde_vm_anchor_of(java_thread);
    if (!anchor || !anchor->sp || ((uintptr_t)anchor->sp & 7) ||
        stack_pointer >= (uintptr_t)anchor->sp || anchor->pc)
        return false;
    anchor->pc = anchor->sp[-1];
    return true;
}

void sonde_vm_leave_unwalkable(const void *java_thread) { sonde_vm_anchor_of(java_thread)->pc = 0; }

JNIEnv *sonde_vm_attach(void)
{
    JNIEnv *env = NULL;
    JavaVMAttachArgs arguments = {JNI_VERSION_1_8, "sonde", NULL};
    if (atomic_load(&sonde_vm.ended) ||
        (*sonde_vm.vm)->AttachCurrentThreadAsDaemon(sonde_vm.vm, (void **)&env, &arguments))
        return NULL;
    return env;
}

void sonde_vm_detach(void)
{
    if (!atomic_load(&sonde_vm.ended))
        (*sonde_vm.vm)->DetachCurrentThread(sonde_vm.vm);
}
