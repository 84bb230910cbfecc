// Contention in a JVM: monitors, Object.wait, and java.util.concurrent by park and unpark.
//
// Waiters: JVMTI reports monitors (only after spinning did not help), the native methods park and
// unpark of Unsafe are wrapped. No event reports the release of a monitor; but then the VM wakes
// the thread it has chosen to be next, by a condition variable, and that call is hooked in its
// offset table. So a holder reports its own call stack, at the moment of the release, as in
// CPython.
#ifndef SONDE_HOTSPOT_MONITORS_H
#define SONDE_HOTSPOT_MONITORS_H

#include <jvmti.h>

// 0 or an errno. The caller is attached to the VM. In a session of waits without locks no event of
// a lock is written: only the stacks of threads that wait for monitors are kept.
int sonde_locks_start(JNIEnv *env);
void sonde_locks_stop(JNIEnv *env);
void sonde_locks_forked(void);

#endif
