// Samples acquisitions of Java locks: calls that are inserted where methods acquire and release.
#ifndef SONDE_HOTSPOT_LOCK_CALLS_H
#define SONDE_HOTSPOT_LOCK_CALLS_H

#include "hotspot/rewrite/class_file.h"

#include <jni.h>

// Whether the session samples acquisitions.
bool sonde_lock_activity_wanted(void);

// What inserted calls come to, see SONDE_CALL_ACQUIRES.
void JNICALL sonde_on_lock_acquires(JNIEnv *env, jclass class, jobject lock, jint number);
void JNICALL sonde_on_lock_acquired(JNIEnv *env, jclass class, jint number);
void JNICALL sonde_on_lock_releases(JNIEnv *env, jclass class, jobject lock, jint number);
void JNICALL sonde_on_lock_holds(JNIEnv *env, jclass class, jobject lock, jint number);
// A synchronized method was left.
void sonde_lock_method_left(JNIEnv *env);

bool sonde_lock_wants_class(const char *name);
void sonde_lock_choose(const sonde_class_method *method, sonde_method_edit *edit);

// `refusal`: 0 or why nothing is sampled, of SONDE_LOCK_ACTIVITY_*. False: nothing is.
bool sonde_lock_activity_start(JNIEnv *env, uint32_t refusal);
void sonde_lock_activity_stop(void);

#endif
