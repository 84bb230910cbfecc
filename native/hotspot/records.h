// What the VM's record of another thread says and JVMTI does not, or not in a VM that runs already.
#ifndef SONDE_RECORDS_H
#define SONDE_RECORDS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

// Looks up where the VM keeps it, once; the caller is a thread of Java.
void sonde_records_prepare(void);

// The kernel's id of a thread; 0 if it cannot be told.
uint32_t sonde_record_tid(uint64_t record);

// The object whose monitor a thread wants to enter or, `notified`, in whose wait() it is; a local
// reference, NULL if there is none.
jobject sonde_record_monitor(JNIEnv *env, uint64_t record, bool notified);

#endif
