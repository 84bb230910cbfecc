// Counts calls of Java methods in windows: those into which a call of SondeCalls.count() is
// inserted.
#ifndef SONDE_HOTSPOT_CALL_COUNTER_H
#define SONDE_HOTSPOT_CALL_COUNTER_H

#include "hotspot/instrument/call_class.h"

#include <jvmti.h>

// Whether the session counts calls.
bool sonde_call_counter_wanted(void);
void sonde_call_counter_set_natives(sonde_call_natives *natives);

// Before anything is inserted: measures what counting takes, and has the compilers see both
// branches. `possible`: calls can be inserted. False: calls are not counted, and the recording
// states it.
bool sonde_call_counter_prepare(JNIEnv *env, jvmtiEnv *jvmti, bool possible);
// Windows open from now on; or nothing could be inserted.
void sonde_call_counter_started(bool started);
// No window opens any more; classes may have the calls for some time.
void sonde_call_counter_stop(void);
// After that: what was kept of the program's objects.
void sonde_call_counter_forget(JNIEnv *env);

#endif
