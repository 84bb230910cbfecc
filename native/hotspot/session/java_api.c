#define _GNU_SOURCE
#include "hotspot/session/java_api.h"

#include "core/base/clock.h"
#include "core/hooks/spans.h"
#include "core/protocol/control_request.h"
#include "core/protocol/join_session.h"
#include "core/protocol/program_api.h"
#include "core/session/span_records.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/thread_span.h"
#include "hotspot/walk/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char class_signature[] = "Lsonde/Agent;";

// ---- which thread a span belongs to

// From 24 on the VM's record has the number of a virtual thread; before, only Java knows it.
static uint64_t carried_by_java(JNIEnv *env)
{
    jthread thread = NULL;
    if (!sonde_virtual_supported() || sonde_records_have_virtual() ||
        (*sonde_vm.jvmti)->GetCurrentThread(sonde_vm.jvmti, &thread))
        return 0;
    uint64_t number = sonde_virtual(env, thread);
    (*env)->DeleteLocalRef(env, thread);
    return number;
}

static bool find_place(sonde_thread *me, sonde_span_place *place)
{
    const void *record;
    JNIEnv *env = sonde_vm_thread(&record);
    uint64_t number = env ? carried_by_java(env) : 0;
    sonde_hotspot_identify(me);
    place->frame = number ? sonde_span_virtual(number & ~SONDE_VIRTUAL)
                          : sonde_thread_place(me, env ? record : NULL);
    place->code = NULL;
    place->around = sonde_span_of(place->frame, NULL);
    return true;
}

// ---- texts

// Java's are UTF-16. Half of a pair, and what does not fit, is left out.
typedef struct {
    char bytes[SONDE_MAX_NOTE];
    size_t length;
} text;

static void append(text *to, uint32_t code)
{
    char *at = to->bytes + to->length;
    size_t left = sizeof to->bytes - to->length;
    if (code < 0x80 && left >= 1) {
        at[0] = (char)code;
        to->length += 1;
    } else if (code >= 0x80 && code < 0x800 && left >= 2) {
        at[0] = (char)(0xc0 | code >> 6);
        at[1] = (char)(0x80 | (code & 63));
        to->length += 2;
    } else if (code >= 0x800 && code < 0x10000 && left >= 3) {
        at[0] = (char)(0xe0 | code >> 12);
        at[1] = (char)(0x80 | (code >> 6 & 63));
        at[2] = (char)(0x80 | (code & 63));
        to->length += 3;
    } else if (code >= 0x10000 && left >= 4) {
        at[0] = (char)(0xf0 | code >> 18);
        at[1] = (char)(0x80 | (code >> 12 & 63));
        at[2] = (char)(0x80 | (code >> 6 & 63));
        at[3] = (char)(0x80 | (code & 63));
        to->length += 4;
    }
}

static void read_text(JNIEnv *env, jstring from, text *to)
{
    jchar part[256];
    const jsize most = sizeof part / sizeof *part;
    to->length = 0;
    jsize length = from ? (*env)->GetStringLength(env, from) : 0;
    if (length > SONDE_MAX_NOTE)
        length = SONDE_MAX_NOTE;
    uint32_t high = 0;
    for (jsize at = 0; at < length; at += most) {
        jsize n = length - at < most ? length - at : most;
        (*env)->GetStringRegion(env, from, at, n, part);
        for (jsize i = 0; i < n; i++) {
            uint32_t unit = part[i];
            bool low = (unit & 0xfc00) == 0xdc00;
            if (low && high)
                append(to, 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff));
            high = (unit & 0xfc00) == 0xd800 ? unit : 0;
            if (!low && !high)
                append(to, unit);
        }
    }
}

// ---- what Java calls

// Set while a session runs: classes that are initialized later ask for it.
static _Atomic bool offered;

static jboolean JNICALL is_active(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    return atomic_load(&offered) && sonde_agent_active() ? JNI_TRUE : JNI_FALSE;
}

static jint JNICALL begin(JNIEnv *env, jclass class, jstring name, jint within)
{
    (void)class;
    text known;
    if (!sonde_agent_active())
        return 0;
    read_text(env, name, &known);
    return (jint)sonde_program_begin(known.bytes, known.length, (uint32_t)within);
}

static void JNICALL end(JNIEnv *env, jclass class, jint number)
{
    (void)env;
    (void)class;
    sonde_program_end((uint32_t)number);
}

static void JNICALL attribute(JNIEnv *env, jclass class, jint number, jstring stated)
{
    (void)class;
    text known;
    read_text(env, stated, &known);
    sonde_program_attribute((uint32_t)number, known.bytes, known.length);
}

static void JNICALL mark(JNIEnv *env, jclass class, jstring stated)
{
    (void)class;
    text known;
    read_text(env, stated, &known);
    sonde_program_mark(known.bytes, known.length);
}

static void JNICALL control(JNIEnv *env, jclass class, jboolean pause)
{
    (void)env;
    (void)class;
    sonde_program_control(pause);
}

#define MAX_ANSWER (1 << 20)

static jstring JNICALL ask(JNIEnv *env, jclass class, jstring command)
{
    (void)class;
    text known;
    read_text(env, command, &known);
    char *answer = known.length < sizeof known.bytes ? malloc(MAX_ANSWER) : NULL;
    if (!answer)
        return NULL;
    known.bytes[known.length] = 0;
    jstring found = NULL;
    // JSON of the recorder's: ASCII alone, which is the same in Java's own form of UTF-8.
    if (sonde_control_ask(known.bytes, answer, MAX_ANSWER))
        found = (*env)->NewStringUTF(env, answer);
    free(answer);
    return found;
}

// In the order of ThreadCounters.java.
static jboolean JNICALL count(JNIEnv *env, jclass class, jlongArray into)
{
    (void)class;
    const void *record;
    struct rusage usage;
    if (!sonde_agent_active() || !sonde_vm_thread(&record) || sonde_record_virtual(record) ||
        carried_by_java(env) || getrusage(RUSAGE_THREAD, &usage) != 0)
        return JNI_FALSE;
    const jlong counts[] = {(jlong)sonde_thread_cpu(), usage.ru_minflt, usage.ru_majflt,
                            usage.ru_nvcsw + usage.ru_nivcsw, usage.ru_minflt + usage.ru_majflt};
    (*env)->SetLongArrayRegion(env, into, 0, sizeof counts / sizeof *counts, counts);
    return JNI_TRUE;
}

// ---- the classes

static bool is_ours(jvmtiEnv *jvmti, jclass class)
{
    char *signature = NULL;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) || !signature)
        return false;
    bool is = strcmp(signature, class_signature) == 0;
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return is;
}

// False: a class of that name that has other methods.
static bool supply(JNIEnv *env, jclass class)
{
    static const JNINativeMethod methods[] = {
        {"isActive", "()Z", (void *)is_active},
        {"begin", "(Ljava/lang/String;I)I", (void *)begin},
        {"end", "(I)V", (void *)end},
        {"attribute", "(ILjava/lang/String;)V", (void *)attribute},
        {"mark", "(Ljava/lang/String;)V", (void *)mark},
        {"control", "(Z)V", (void *)control},
        {"ask", "(Ljava/lang/String;)Ljava/lang/String;", (void *)ask},
        {"count", "([J)Z", (void *)count},
    };
    bool done = (*env)->RegisterNatives(env, class, methods, sizeof methods / sizeof *methods) == 0;
    (*env)->ExceptionClear(env);
    return done;
}

void sonde_java_api_prepared(jvmtiEnv *jvmti, JNIEnv *env, jclass prepared)
{
    if (is_ours(jvmti, prepared))
        supply(env, prepared); // it asks us whether we are there when it is initialized
}

// Initializes the class, or waits for who does: afterwards nobody else sets it.
static void set_present(JNIEnv *env, jclass class, bool present)
{
    jfieldID field = (*env)->GetStaticFieldID(env, class, "present", "Z");
    if (field)
        (*env)->SetStaticBooleanField(env, class, field, present);
    (*env)->ExceptionClear(env);
}

// None is remembered: class loaders come and go with what they loaded.
static void for_each(JNIEnv *env, bool present)
{
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    jint count;
    jclass *classes;
    if ((*jvmti)->GetLoadedClasses(jvmti, &count, &classes))
        return;
    for (jint i = 0; i < count; i++) {
        jint status = 0;
        (*jvmti)->GetClassStatus(jvmti, classes[i], &status);
        if ((status & JVMTI_CLASS_STATUS_PREPARED) && is_ours(jvmti, classes[i]) &&
            (!present || supply(env, classes[i])))
            set_present(env, classes[i], present);
        (*env)->DeleteLocalRef(env, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
}

void sonde_java_api_start(JNIEnv *env)
{
    sonde_virtual_find(env);
    sonde_program_offer(find_place);
    atomic_store(&offered, true);
    for_each(env, true);
}

void sonde_java_api_stop(JNIEnv *env)
{
    atomic_store(&offered, false);
    sonde_program_withdraw();
    if (env)
        for_each(env, false);
}
