// Parking and unparking of java.util.concurrent, by the native methods of Unsafe.
#ifndef SONDE_HOTSPOT_PARK_HOOKS_H
#define SONDE_HOTSPOT_PARK_HOOKS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

// Both while events of monitors are reported.
void sonde_parks_start(JNIEnv *env);
void sonde_parks_stop(JNIEnv *env);
// In such an event: true if it is one that these two have brought about.
bool sonde_parks_register(JNIEnv *env);
// What a thread parks for; NULL if it has no blocker.
jobject sonde_park_blocker(JNIEnv *env, jthread thread);
uint64_t sonde_park_lock(jthread thread, jobject blocker);
// The holder of what a thread parks for, where that is a lock that records it; else NULL.
jthread sonde_park_holder(JNIEnv *env, jobject blocker);

#endif
