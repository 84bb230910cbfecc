// Has the VM retransform classes into which calls are inserted, and back into what they were.
//
// A class is retransformed when it is prepared, before any of its methods runs, or at the start if
// it is prepared by then. Where calls are only counted, it is changed when it is loaded. What the
// VM refuses stays as it was: it verifies the new class first.
#ifndef SONDE_HOTSPOT_INSTRUMENTATION_H
#define SONDE_HOTSPOT_INSTRUMENTATION_H

#include "hotspot/instrument/call_class.h"
#include "hotspot/rewrite/class_file.h"

#include <jvmti.h>

typedef struct {
    // Whether entries of methods of the class are counted, and of which methods. Here `name` is as
    // below.
    bool (*counts_class)(JNIEnv *env, jobject loader, const char *name);
    bool (*counts_method)(const sonde_class_method *method);
    // Whether any method of the class may be chosen; its name is as in source, with dots.
    bool (*wants_class)(jvmtiEnv *jvmti, jclass class, const char *name);
    // Chooses what to insert into a method of the class that was wanted last in this thread.
    void (*choose)(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit);
    // A method or class stays as it was.
    void (*refused)(const char *why);
} sonde_instrument;

// Defines what inserted calls call, before the start. 0 or an errno. The caller is attached to the
// VM, as for all of these.
int sonde_instrumentation_prepare(JNIEnv *env, const sonde_call_natives *natives);
int sonde_instrumentation_start(JNIEnv *env, const sonde_instrument *instrument);
// Inserts again, into the classes that are wanted now.
void sonde_instrumentation_renew(JNIEnv *env);
// The environment by which it is done, for others that have to do with classes.
jvmtiEnv *sonde_instrumentation_jvmti(void);
// Every class is as it was: methods that still run call us until they return.
void sonde_instrumentation_stop(JNIEnv *env);

#endif
