// The call flow of a JVM: calls that are inserted into chosen methods note entries and exits.
#ifndef SONDE_HOTSPOT_FLOW_CALLS_H
#define SONDE_HOTSPOT_FLOW_CALLS_H

#include "hotspot/instrument/call_class.h"
#include "hotspot/rewrite/class_file.h"

// Whether the session has one.
bool sonde_flow_wanted(void);
void sonde_flow_set_natives(sonde_call_natives *natives);
bool sonde_flow_wants(const char *class_name);
void sonde_flow_choose(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit);

// Before calls are inserted; `possible`: they can be. False: there will be no call flow, and the
// header of its memory has why. The caller is attached to the VM.
bool sonde_flow_prepare(JNIEnv *env, bool possible);
// They are, or could not.
void sonde_flow_started(bool started);
// Before the session ends.
void sonde_flow_stop(void);
void sonde_flow_forked(void);

#endif
