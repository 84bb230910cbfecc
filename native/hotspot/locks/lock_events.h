// Writes lock events of Java threads, and knows the identity of locks.
#ifndef SONDE_HOTSPOT_LOCK_EVENTS_H
#define SONDE_HOTSPOT_LOCK_EVENTS_H

#include "core/session/session.h"
#include "hotspot/locks/notifications.h"

#include <jvmti.h>

// The JVMTI environment that locks have to themselves.
extern jvmtiEnv *sonde_locks_jvmti;

// What events of a lock are about: the identity of an object, which stays while that moves.
#define SONDE_IS_WAIT ((uint64_t)1 << 32) // Object.wait: apart from the monitor itself
#define SONDE_IS_PARK ((uint64_t)2 << 32)
#define SONDE_IS_BARE ((uint64_t)3 << 32) // parked without a blocker: the thread's own
uint64_t sonde_lock_of(jobject object, uint64_t what);

// As sonde_enter(), but NULL if locks are not recorded at the moment; the ends of waits are written
// all the same.
sonde_thread *sonde_lock_enter(void);

// Both in a callback or a native method.
void sonde_lock_wait_begins(JNIEnv *env, jthread thread, jobject object, uint64_t lock,
                            uint32_t kind);
void sonde_lock_wait_ends(JNIEnv *env, jthread thread, uint64_t lock, uint32_t kind, bool gave_up);
// It was notified, and has waited for the lock `wanted` since then if the notice says so.
void sonde_lock_notified(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind,
                         uint64_t wanted, uint32_t wanted_kind, const sonde_notice *notice);
void sonde_lock_released(JNIEnv *env, uint64_t lock, uint32_t kind, uint64_t sequence,
                         uint64_t time);
// A release by the calling thread, which is somewhere inside of the VM: `record` is the VM's of it,
// `frame` that of a function that the VM has called.
void sonde_lock_released_below(uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time,
                               const void *record, const void *frame);

#endif
