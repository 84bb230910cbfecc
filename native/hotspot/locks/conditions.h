// Conditions of the locks of java.util.concurrent.
#ifndef SONDE_HOTSPOT_CONDITIONS_H
#define SONDE_HOTSPOT_CONDITIONS_H

#include "hotspot/locks/notifications.h"

#include <jvmti.h>

void sonde_conditions_find(JNIEnv *env);
// Of what a thread parks for, or NULL: the lock, if it is a condition; itself, if it is a lock that
// may have conditions. New local references.
jobject sonde_condition_lock(JNIEnv *env, jobject blocker);
jobject sonde_lock_with_conditions(JNIEnv *env, jobject blocker);
// As sonde_notify, for one of these; `key` is that of the thread to be woken.
sonde_notified sonde_conditions_notify(JNIEnv *env, jobject lock, uint64_t number, const void *key,
                                       uint64_t now);
// What a thread is woken by.
const void *sonde_condition_key(jthread thread);

#endif
