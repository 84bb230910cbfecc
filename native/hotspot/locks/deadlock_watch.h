// Who waits already when the recording begins, and who holds what others have waited for a long
// time for: in a deadlock nobody will ever tell.
#ifndef SONDE_HOTSPOT_DEADLOCK_WATCH_H
#define SONDE_HOTSPOT_DEADLOCK_WATCH_H

#include <jvmti.h>

int sonde_deadlock_watch_start(JNIEnv *env);
void sonde_deadlock_watch_stop(void);
void sonde_deadlock_watch_forked(void);

#endif
