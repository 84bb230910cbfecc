// The classes of sonde-api.jar, by which a program states spans and marks: they get their native
// methods from here.
#ifndef SONDE_HOTSPOT_JAVA_API_H
#define SONDE_HOTSPOT_JAVA_API_H

#include <jvmti.h>

// For the classes that are loaded, by several class loaders perhaps; and the end of it. The caller
// is attached to the VM.
void sonde_java_api_start(JNIEnv *env);
void sonde_java_api_stop(JNIEnv *env);

// A class was prepared: none of its code has run.
void sonde_java_api_prepared(jvmtiEnv *jvmti, JNIEnv *env, jclass prepared);

#endif
