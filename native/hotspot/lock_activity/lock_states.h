// What a Java lock says of itself, read where the VM keeps it: no method of the program is called.
#ifndef SONDE_HOTSPOT_LOCK_STATES_H
#define SONDE_HOTSPOT_LOCK_STATES_H

#include <jni.h>
#include <stdbool.h>

// Looks up classes and fields, once. False: the platform has others.
bool sonde_lock_states_prepare(JNIEnv *env);

bool sonde_monitor_is_mine(JNIEnv *env, jobject object);

typedef struct {
    jobject sync; // what its threads park for; a local reference, NULL: it is another kind of lock
    bool taken, mine;
} sonde_lock_state;
// Of a lock of java.util.concurrent; `thread` is the calling one.
sonde_lock_state sonde_lock_state_of(JNIEnv *env, jobject lock, jobject thread);

#endif
