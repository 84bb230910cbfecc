// Virtual threads (21 and newer): their identity and names. No thread of the kernel sleeps for
// them: one that waits leaves the thread that carries it, which goes on with another.
#ifndef SONDE_HOTSPOT_VIRTUAL_THREADS_H
#define SONDE_HOTSPOT_VIRTUAL_THREADS_H

#include "core/session/session.h"

#include <jvmti.h>

// Finds their class and fields; before anything else here.
void sonde_virtual_find(JNIEnv *env);
// Adds what their events need to `wanted`, where the VM has them.
void sonde_virtual_request(jvmtiEnv *jvmti, jvmtiCapabilities *wanted);
// Sets the callbacks, with those of virtual threads; and whether they are called.
jvmtiError sonde_virtual_listen(jvmtiEnv *jvmti, const jvmtiEventCallbacks *known);
void sonde_virtual_notify(jvmtiEnv *jvmti, jvmtiEventMode mode);

bool sonde_virtual_supported(void);
// The number of a virtual thread, as in sonde_rec_lock.holder; 0 if it is none.
uint64_t sonde_virtual(JNIEnv *env, jthread thread);
// Reports its name.
void sonde_virtual_report(sonde_thread *me, jvmtiEnv *jvmti, JNIEnv *env, jthread thread,
                          uint64_t number);

#endif
