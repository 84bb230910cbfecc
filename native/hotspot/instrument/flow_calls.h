// The call flow of a JVM: calls that are inserted into chosen methods note entries and exits.
#ifndef SONDE_HOTSPOT_FLOW_CALLS_H
#define SONDE_HOTSPOT_FLOW_CALLS_H

#include <jni.h>

// Starts it if the session is to have it; the header of its memory has why it does not.
void sonde_flow_start(JNIEnv *env);
// Before the session ends.
void sonde_flow_stop(JNIEnv *env);
void sonde_flow_forked(void);

#endif
