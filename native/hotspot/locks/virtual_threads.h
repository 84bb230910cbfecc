// Virtual threads (21 and newer): who they are, and their waits. No thread of the kernel sleeps for
// them: one that waits leaves the thread that carries it, which goes on with another.
#ifndef SONDE_HOTSPOT_VIRTUAL_H
#define SONDE_HOTSPOT_VIRTUAL_H

#include "core/session/session.h"

#include <jvmti.h>
#include <pthread.h>

// ---- virtual_threads.c: who they are

// Looks for what there is of them; before anything else here.
void sonde_virtual_find(JNIEnv *env);
// Adds what their events need to `wanted`, where the VM has them.
void sonde_virtual_want(jvmtiEnv *jvmti, jvmtiCapabilities *wanted);
// Sets the callbacks, with those of virtual threads; and whether they are called.
jvmtiError sonde_virtual_listen(jvmtiEnv *jvmti, const jvmtiEventCallbacks *known);
void sonde_virtual_notify(jvmtiEnv *jvmti, jvmtiEventMode mode);

bool sonde_virtual_exist(void);
// The number of a virtual thread, as in sonde_rec_lock.holder; 0 if it is none.
uint64_t sonde_virtual(JNIEnv *env, jthread thread);
// Tells what it is called.
void sonde_virtual_tell(sonde_thread *me, JNIEnv *env, jthread thread, uint64_t number);

// ---- virtual_monitors.c: from 24 on they leave their carriers for a monitor, too. Who lets it go
// wakes one thread of the VM's for all of them, which tells neither which monitor nor whom.

bool sonde_virtual_leaves(uint64_t number);
// Forgets waits whose end was not seen; before a session.
void sonde_virtual_monitors_forget(void);
// Begins and ends in the events of a wait.
void sonde_virtual_monitor_begin(uint64_t number, uint64_t lock, uint32_t kind);
void sonde_virtual_monitor_end(uint64_t number, uint64_t lock);
// What a virtual thread waits for that was begun; 0 if it does not.
uint64_t sonde_virtual_monitor_of(uint64_t number, uint32_t *kind);

// The thread that wakes them was found. The calling thread, which may be it, waits for this.
void sonde_virtual_waker_is(uint32_t tid);
void sonde_virtual_waker_waits(pthread_cond_t *cond);

// A signal is about to be given: which locks it says are let go by the caller, whose record this
// is. How many.
#define SONDE_MAX_LET_GO 4
typedef struct {
    uint64_t lock;
    uint32_t kind;
} sonde_let_go;
uint32_t sonde_virtual_lets_go(const pthread_cond_t *cond, const void *record,
                               sonde_let_go found[SONDE_MAX_LET_GO]);

// ---- virtual_parks.c: parks of java.util.concurrent

void sonde_virtual_parks_start(void);
void sonde_virtual_parks_stop(void);
// Is it told when one leaves its carrier?
bool sonde_virtual_followed(void);

#endif
