// What a session has of inserted calls: counted calls, the call flow, probes, or several of them in
// the same classes.
#ifndef SONDE_HOTSPOT_INSERTED_SESSION_H
#define SONDE_HOTSPOT_INSERTED_SESSION_H

#include <jni.h>

void sonde_inserted_start(JNIEnv *env);
// Before the session ends; without `env` classes stay as they are.
void sonde_inserted_stop(JNIEnv *env);
void sonde_inserted_forked(void);

#endif
