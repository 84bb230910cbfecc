// Contention in a JVM: monitors, Object.wait, and java.util.concurrent by park and unpark.
//
// Waiters: JVMTI tells of monitors (only after spinning did not help), the native methods park and
// unpark of Unsafe are wrapped. Who lets a monitor go is told by nobody; but then the VM wakes the
// one it has chosen to be next, by a condition variable, and that call is hooked in its offset
// table. So an owner tells its own call chain, at the moment it lets go, as in CPython.
#ifndef SONDE_HOTSPOT_LOCKS_H
#define SONDE_HOTSPOT_LOCKS_H

#include "core/session/session.h"
#include "hotspot/locks/notifications.h"

#include <jvmti.h>

// The JVMTI environment that locks have to themselves.
extern jvmtiEnv *sonde_locks_jvmti;

// 0 or an errno. The caller is attached to the VM. In a session of waits without locks no event of
// a lock is written: only the stacks of threads that wait for monitors are kept.
int sonde_locks_start(JNIEnv *env);
void sonde_locks_stop(JNIEnv *env);
void sonde_locks_forked(void);

// What events of a lock are about: the identity of an object, which stays while that moves.
#define SONDE_IS_WAIT ((uint64_t)1 << 32) // Object.wait: apart from the monitor itself
#define SONDE_IS_PARK ((uint64_t)2 << 32)
#define SONDE_IS_BARE ((uint64_t)3 << 32) // parked without a blocker: the thread's own
uint64_t sonde_lock_of(jobject object, uint64_t what);

// The virtual thread of this number leaves the calling thread, or comes back to one.
void sonde_lock_carrier_left(void);
void sonde_lock_carrier_taken(uint64_t number);

// Both in a callback or a native method.
void sonde_lock_must_wait(JNIEnv *env, jthread thread, jobject object, uint64_t lock,
                          uint32_t kind);
void sonde_lock_waited(JNIEnv *env, jthread thread, uint64_t lock, uint32_t kind, bool gave_up);
// It was notified, and has waited for the lock `wanted` since then if the notice says so.
void sonde_lock_notified(JNIEnv *env, jthread thread, jobject object, uint64_t lock, uint32_t kind,
                         uint64_t wanted, uint32_t wanted_kind, const sonde_notice *notice);
void sonde_lock_let_go(JNIEnv *env, uint64_t lock, uint32_t kind, uint64_t sequence, uint64_t time);

// ---- park_hooks.c; both while events of monitors are told
void sonde_parks_start(JNIEnv *env);
void sonde_parks_stop(JNIEnv *env);
// In such an event: true if it is one that these two have brought about.
bool sonde_parks_register(JNIEnv *env);
// What a thread parks for; NULL if it does not say.
jobject sonde_park_blocker(JNIEnv *env, jthread thread);
uint64_t sonde_park_lock(jthread thread, jobject blocker);
// Who has what a thread parks for, where that is a lock that knows; else NULL.
jthread sonde_park_holder(JNIEnv *env, jobject blocker);

// ---- deadlock_watch.c: who waits already when the recording begins, and who holds what others
// have waited for a long time for: in a deadlock nobody will ever tell.
int sonde_lookout_start(JNIEnv *env);
void sonde_lookout_stop(void);
void sonde_lookout_forked(void);
// A wait begins; what to give back when it is over.
uint32_t sonde_lookout_begin(uint64_t lock);
#define SONDE_NO_PLACE UINT32_MAX
void sonde_lookout_end(uint32_t place);
// Was a wait for `lock` found when the recording began, and has not ended yet?
bool sonde_lookout_was_found(uint64_t lock);
// An owner has let go: waits for `key` that will not tell their end themselves are over.
void sonde_lookout_let_go(const void *key);

#endif
