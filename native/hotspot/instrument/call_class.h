// The class whose static methods inserted calls name. It is defined once, into java.lang: every
// class may name it there, whatever loader and module it is of.
#ifndef SONDE_HOTSPOT_CALL_CLASS_H
#define SONDE_HOTSPOT_CALL_CLASS_H

#include <jni.h>
#include <stdbool.h>

#define SONDE_CALL_CLASS "java/lang/SondeCalls"

// Its methods that make calls as others do: so many in each round, as many rounds as the argument
// says.
#define SONDE_TRAINING_RETURNS "trainReturns"
#define SONDE_TRAINING_EXCEPTIONS "trainExceptions"
#define SONDE_TRAINING_CALLS 8u

// What the calls come to. The thread is Thread.threadId(), 0 where there are no virtual threads.
typedef struct {
    void(JNICALL *enter)(JNIEnv *, jclass, jint number, jlong thread);
    void(JNICALL *leave)(JNIEnv *, jclass, jint number, jlong thread);
    void(JNICALL *unwind)(JNIEnv *, jclass, jint number, jlong thread);
    void(JNICALL *caught)(JNIEnv *, jclass, jint number, jlong thread);
    void(JNICALL *integer)(JNIEnv *, jclass, jlong value, jint number);
    void(JNICALL *real)(JNIEnv *, jclass, jdouble value, jint number);
    void(JNICALL *object)(JNIEnv *, jclass, jobject value, jint number);
    void(JNICALL *pass)(JNIEnv *, jclass, jint number);
    void(JNICALL *acquires)(JNIEnv *, jclass, jobject lock, jint number);
    void(JNICALL *acquired)(JNIEnv *, jclass, jint number);
    void(JNICALL *releases)(JNIEnv *, jclass, jobject lock, jint number);
    void(JNICALL *holds)(JNIEnv *, jclass, jobject lock, jint number);
    jint(JNICALL *seen)(JNIEnv *, jclass); // see counting_methods.h
} sonde_call_natives;

// NULL: the VM does not let it be defined. A local reference.
jclass sonde_call_class(JNIEnv *env);
// To register native methods of a class of the platform from outside makes the VM print a warning,
// unless a method of the platform itself has called who does it (jni.cpp, 17 to 25).
bool sonde_call_class_register(JNIEnv *env, jclass class, const sonde_call_natives *natives);

#endif
