// What the VM reports by events during a session: classes, threads, collections, its end.
#ifndef SONDE_HOTSPOT_JVMTI_EVENTS_H
#define SONDE_HOTSPOT_JVMTI_EVENTS_H

#include <jvmti.h>

// 0 or an errno. The caller is attached to the VM, as for all of these.
int sonde_events_start(JNIEnv *env);
void sonde_events_stop(void);

// Reports the name of every thread that exists now.
void sonde_events_report_names(JNIEnv *env);

#endif
