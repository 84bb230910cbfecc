// What the VM's record of another thread contains and JVMTI does not report, or not in a VM that
// runs already.
#ifndef SONDE_HOTSPOT_THREAD_RECORDS_H
#define SONDE_HOTSPOT_THREAD_RECORDS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

// Looks up where the VM keeps it, once; the caller is a thread of Java.
void sonde_records_prepare(void);

// The kernel's id of a thread; 0 if it is unknown.
uint32_t sonde_record_tid(uint64_t record);

// The recorder's key of a thread: its number in the kernel, marked as such. The address of its
// record will not do, since the next thread may get the same before its name was reported. Of the
// calling thread, and of another one; 0 if that does not run by now.
uint64_t sonde_vm_own_object(void);
uint64_t sonde_vm_object_of(JNIEnv *env, jthread thread);

// The object whose monitor a thread wants to enter or, `notified`, in whose wait() it is; a local
// reference, NULL if there is none.
jobject sonde_record_monitor(JNIEnv *env, uint64_t record, bool notified);

// ---- of the calling thread's own record, from 24 on; all of them 0 where it is unknown

// The number that Java gives the thread, or the virtual one it carries.
uint64_t sonde_record_owner_id(const void *record);
// Whether the next one is known.
bool sonde_records_have_virtual(void);
// The virtual thread that it carries, as in sonde_rec_lock.holder.
uint64_t sonde_record_virtual(const void *record);
// The VM's monitor that it is about to wait for.
uint64_t sonde_record_pending(const void *record);
// The number of the thread that holds a monitor; one that a thread waits for, or in a guarded body.
uint64_t sonde_monitor_owner(uint64_t monitor);

#endif
