// Contention in a JVM: monitors, Object.wait, and java.util.concurrent by park and unpark.
//
// Waiters: JVMTI tells of monitors (only after spinning did not help), the native methods park and
// unpark of Unsafe are wrapped. Who lets a monitor go is told by nobody; but then the VM wakes the
// one it has chosen to be next, by a condition variable, and that call is hooked in its offset
// table. So an owner tells its own call chain, at the moment it lets go, as in CPython.
#ifndef SONDE_HOTSPOT_MONITORS_H
#define SONDE_HOTSPOT_MONITORS_H

#include <jvmti.h>

// 0 or an errno. The caller is attached to the VM. In a session of waits without locks no event of
// a lock is written: only the stacks of threads that wait for monitors are kept.
int sonde_locks_start(JNIEnv *env);
void sonde_locks_stop(JNIEnv *env);
void sonde_locks_forked(void);

#endif
