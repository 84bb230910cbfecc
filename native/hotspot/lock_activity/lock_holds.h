// Sampled holds of the calling thread: each ends where the thread releases the lock as often as it
// acquired it since.
#ifndef SONDE_HOTSPOT_LOCK_HOLDS_H
#define SONDE_HOTSPOT_LOCK_HOLDS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_MAX_OPEN_HOLDS 4u

extern _Thread_local uint32_t sonde_open_holds __attribute__((tls_model("initial-exec")));

// A hold begins now. Its id, 0: there are too many. `of_method`: it ends with the method.
uint64_t sonde_lock_hold_begin(JNIEnv *env, jobject lock, bool of_method, uint32_t round);
void sonde_lock_hold_set_since(uint64_t id, uint64_t since);
// Forgets it: its beginning was not reported.
void sonde_lock_hold_forget(JNIEnv *env, uint64_t id);

// What the thread does meanwhile. `ended` is called with each hold that is over.
typedef void (*sonde_hold_ended)(uint64_t id, uint64_t since);
void sonde_lock_hold_again(JNIEnv *env, jobject lock, bool of_method);
void sonde_lock_hold_release(JNIEnv *env, jobject lock, sonde_hold_ended ended);
void sonde_lock_hold_method_left(JNIEnv *env, sonde_hold_ended ended);
// Holds of an earlier counting are none of this one.
void sonde_lock_holds_check(JNIEnv *env, uint32_t round);

#endif
