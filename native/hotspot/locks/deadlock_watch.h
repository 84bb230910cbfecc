// Threads that already wait when the recording begins, and holders of locks that others have waited
// for a long time for: in a deadlock no release will ever report them.
#ifndef SONDE_HOTSPOT_DEADLOCK_WATCH_H
#define SONDE_HOTSPOT_DEADLOCK_WATCH_H

#include <jvmti.h>

int sonde_deadlock_watch_start(JNIEnv *env);
void sonde_deadlock_watch_stop(void);
void sonde_deadlock_watch_forked(void);

#endif
