#define _GNU_SOURCE
#include "hotspot/instrument/instrumentation.h"

#include "hotspot/vm/vm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 1024

// Stays for good, as those of locks and objects.
static jvmtiEnv *jvmti;
static const sonde_instrument *instrument;
static _Atomic bool active;

// ---- one class: its methods by name and descriptor

enum { NOTHING = 0, COUNTED = 1, EDITED = 2 }; // what is wanted of a class

typedef struct {
    jvmtiEnv *jvmti;
    int wanted;
    jint count;
    jmethodID *methods;
} class_methods;

static bool text_is(sonde_utf8 text, const char *other) { return sonde_utf8_is(text, other); }

static jmethodID id_of(const class_methods *of, const sonde_class_method *method)
{
    jmethodID found = NULL;
    for (jint i = 0; i < of->count && !found; i++) {
        char *name = NULL, *descriptor = NULL;
        if ((*of->jvmti)->GetMethodName(of->jvmti, of->methods[i], &name, &descriptor, NULL))
            continue;
        if (text_is(method->name, name) && text_is(method->descriptor, descriptor))
            found = of->methods[i];
        (*of->jvmti)->Deallocate(of->jvmti, (unsigned char *)name);
        (*of->jvmti)->Deallocate(of->jvmti, (unsigned char *)descriptor);
    }
    return found;
}

static bool choose(void *context, const sonde_class_method *method, sonde_method_edit *edit)
{
    const class_methods *of = context;
    if (of->wanted & COUNTED)
        edit->counted = instrument->counts_method(method);
    jmethodID id = of->wanted & EDITED ? id_of(of, method) : NULL;
    if (id)
        instrument->choose(method, id, edit);
    return edit->counted || edit->calls || edit->insertion_count;
}

static void done(void *context, const sonde_method_edit *edit, const char *why)
{
    (void)context;
    (void)edit;
    if (why)
        instrument->refused(why);
}

// ---- which classes

// Of "Lcom/shop/Order;": the name with dots. False for others.
static bool class_name(const char *signature, char *name)
{
    size_t length = strlen(signature);
    if (*signature != 'L' || length < 3 || length - 2 >= MAX_NAME)
        return false;
    for (size_t i = 0; i < length - 2; i++)
        name[i] = signature[i + 1] == '/' ? '.' : signature[i + 1];
    name[length - 2] = 0;
    return true;
}

// Those whose methods sonde calls itself in inserted calls, and whose constructor HotSpot executes
// in a way of its own.
static bool is_excluded(const char *name)
{
    return strcmp(name, "java.lang.Object") == 0 || strcmp(name, "java.lang.Thread") == 0 ||
           strcmp(name, "java.lang.SondeCalls") == 0;
}

static bool is_counted(JNIEnv *env, jclass class, const char *name)
{
    jobject loader = NULL;
    bool found = (*jvmti)->GetClassLoader(jvmti, class, &loader) == 0 &&
                 instrument->counts_class(env, loader, name);
    (*env)->DeleteLocalRef(env, loader);
    return found;
}

static int wanted_of(JNIEnv *env, jclass class)
{
    char *signature = NULL, name[MAX_NAME];
    jboolean modifiable = JNI_FALSE;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL))
        return NOTHING;
    int wanted = NOTHING;
    if (class_name(signature, name)) {
        wanted |= instrument->wants_class(jvmti, class, name) ? EDITED : 0;
        wanted |= is_counted(env, class, name) ? COUNTED : 0;
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    if (!wanted)
        return NOTHING;
    if (is_excluded(name) || (*jvmti)->IsModifiableClass(jvmti, class, &modifiable) ||
        !modifiable) {
        if (atomic_load(&active) && wanted & EDITED)
            instrument->refused("the VM does not let its class be changed");
        return NOTHING;
    }
    return wanted;
}

static void rewrite(class_methods *methods, jint size, const unsigned char *bytes, jint *new_size,
                    unsigned char **new_bytes)
{
    const sonde_rewriter rewriter = {SONDE_CALL_CLASS, methods, choose, done};
    sonde_output output;
    bool changed;
    const char *why = sonde_class_rewrite(bytes, (size_t)size, &rewriter, &output, &changed);
    if (why)
        instrument->refused(why);
    if (changed &&
        (*methods->jvmti)->Allocate(methods->jvmti, (jlong)output.size, new_bytes) == 0) {
        memcpy(*new_bytes, output.data, output.size);
        *new_size = (jint)output.size;
    }
    sonde_output_free(&output);
}

// The class is being loaded: there is no object of it yet. The VM keeps its bytes as they were, and
// has them ready when it is retransformed.
static bool is_counted_when_loaded(JNIEnv *env, jobject loader, const char *path)
{
    char name[MAX_NAME];
    size_t length = path ? strlen(path) : 0;
    if (!length || length >= MAX_NAME)
        return false;
    for (size_t i = 0; i <= length; i++)
        name[i] = path[i] == '/' ? '.' : path[i];
    return !is_excluded(name) && instrument->counts_class(env, loader, name);
}

// Also when others have it redefined: what they want is changed as well.
static void JNICALL on_class_file(jvmtiEnv *env, JNIEnv *jni, jclass class, jobject loader,
                                  const char *name, jobject domain, jint size,
                                  const unsigned char *bytes, jint *new_size,
                                  unsigned char **new_bytes)
{
    (void)domain;
    class_methods methods = {.jvmti = env};
    if (!atomic_load(&active))
        return;
    if (!class) {
        if (is_counted_when_loaded(jni, loader, name)) {
            methods.wanted = COUNTED;
            rewrite(&methods, size, bytes, new_size, new_bytes);
        }
        return;
    }
    methods.wanted = wanted_of(jni, class);
    if (!methods.wanted || (methods.wanted & EDITED &&
                            (*env)->GetClassMethods(env, class, &methods.count, &methods.methods)))
        return;
    rewrite(&methods, size, bytes, new_size, new_bytes);
    (*env)->Deallocate(env, (unsigned char *)methods.methods);
}

static const char *why_refused(jvmtiError error)
{
    switch (error) {
    case JVMTI_ERROR_FAILS_VERIFICATION:
        return "the VM's verifier refused its class";
    case JVMTI_ERROR_UNMODIFIABLE_CLASS:
        return "the VM does not let its class be changed";
    default:
        return "the VM refused to change its class";
    }
}

static _Thread_local bool inserting __attribute__((tls_model("initial-exec")));

// Those of a call are one pause; if one of them is refused, all are, and each is tried alone.
#define MAX_TOGETHER 128

static void retransform(JNIEnv *env, jclass *classes, jint count)
{
    bool before = inserting;
    inserting = true;
    if (count && (*jvmti)->RetransformClasses(jvmti, count, classes))
        for (jint i = 0; i < count; i++) {
            jvmtiError error = (*jvmti)->RetransformClasses(jvmti, 1, &classes[i]);
            if (error && atomic_load(&active) && wanted_of(env, classes[i]) & EDITED)
                instrument->refused(why_refused(error));
        }
    inserting = before;
}

static void retransform_prepared(JNIEnv *env)
{
    jint count, found = 0;
    jclass *classes;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &classes))
        return;
    for (jint i = 0; i < count; i++) {
        jint status = 0;
        (*jvmti)->GetClassStatus(jvmti, classes[i], &status);
        if ((status & JVMTI_CLASS_STATUS_PREPARED) && wanted_of(env, classes[i]))
            classes[found++] = classes[i];
        else
            (*env)->DeleteLocalRef(env, classes[i]);
    }
    for (jint from = 0; from < found; from += MAX_TOGETHER)
        retransform(env, classes + from, found - from < MAX_TOGETHER ? found - from : MAX_TOGETHER);
    for (jint i = 0; i < found; i++)
        (*env)->DeleteLocalRef(env, classes[i]);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
}

static void JNICALL on_class_prepare(jvmtiEnv *env, JNIEnv *jni, jthread thread, jclass class)
{
    (void)env;
    (void)thread;
    if (atomic_load(&active) && !inserting && wanted_of(jni, class) & EDITED)
        retransform(jni, &class, 1);
}

// ---- the class that is called: its native methods are registered in the event of a wait, which
// Object.wait(long, int) leads to by another method of Object.

static struct {
    const sonde_call_natives *natives;
    jclass class;
    bool done;
} calls;
static _Thread_local bool registering __attribute__((tls_model("initial-exec")));

static void JNICALL on_wait(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
                            jlong timeout)
{
    (void)env;
    (void)thread;
    (void)object;
    (void)timeout;
    if (registering && !calls.done)
        calls.done = sonde_call_class_register(jni, calls.class, calls.natives);
}

static void wait_a_moment(JNIEnv *env)
{
    jclass class = (*env)->FindClass(env, "java/lang/Object");
    jmethodID wait = class ? (*env)->GetMethodID(env, class, "wait", "(JI)V") : NULL;
    jobject any = wait ? (*env)->AllocObject(env, class) : NULL;
    if (any && (*env)->MonitorEnter(env, any) == 0) {
        registering = true;
        (*env)->CallVoidMethod(env, any, wait, (jlong)1, (jint)0);
        registering = false;
        (*env)->ExceptionClear(env);
        (*env)->MonitorExit(env, any);
    }
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, any);
    (*env)->DeleteLocalRef(env, class);
}

// Once in a process.
static bool prepare_calls(JNIEnv *env, const sonde_call_natives *natives)
{
    if (calls.done)
        return true;
    calls.natives = natives;
    calls.class = sonde_call_class(env);
    if (calls.class && (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE,
                                                          JVMTI_EVENT_MONITOR_WAIT, NULL) == 0)
        wait_a_moment(env);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_MONITOR_WAIT, NULL);
    (*env)->DeleteLocalRef(env, calls.class);
    calls.class = NULL;
    return calls.done;
}

// ---- beginning and end

static jvmtiError notify(jvmtiEventMode mode)
{
    jvmtiError error =
        (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
    return error ? error
                 : (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_CLASS_PREPARE, NULL);
}

int sonde_instrumentation_prepare(JNIEnv *env, const sonde_call_natives *natives)
{
    if (!jvmti && (*sonde_vm.vm)->GetEnv(sonde_vm.vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return ENOTSUP;
    jvmtiCapabilities wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.can_retransform_classes = 1;
    wanted.can_retransform_any_class = 1;
    wanted.can_generate_monitor_events = 1;
    wanted.can_get_source_file_name = 1;
    wanted.can_tag_objects = 1;
    jvmtiEventCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.ClassFileLoadHook = on_class_file;
    callbacks.ClassPrepare = on_class_prepare;
    callbacks.MonitorWait = on_wait;
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) ||
        !prepare_calls(env, natives))
        return ENOTSUP;
    return 0;
}

int sonde_instrumentation_start(JNIEnv *env, const sonde_instrument *what)
{
    instrument = what;
    atomic_store(&active, true);
    if (notify(JVMTI_ENABLE)) {
        atomic_store(&active, false);
        notify(JVMTI_DISABLE);
        return ENOTSUP;
    }
    retransform_prepared(env);
    return 0;
}

void sonde_instrumentation_renew(JNIEnv *env)
{
    if (atomic_load(&active))
        retransform_prepared(env);
}

jvmtiEnv *sonde_instrumentation_jvmti(void) { return jvmti; }

void sonde_instrumentation_stop(JNIEnv *env)
{
    jvmtiCapabilities had;
    if (!atomic_exchange(&active, false))
        return;
    notify(JVMTI_DISABLE);
    retransform_prepared(env);
    if ((*jvmti)->GetCapabilities(jvmti, &had) == 0)
        (*jvmti)->RelinquishCapabilities(jvmti, &had);
}
