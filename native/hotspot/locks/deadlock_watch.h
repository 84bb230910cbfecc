// Who waits already when the recording begins, and who holds what others have waited for a long
// time for: in a deadlock nobody will ever tell.
#ifndef SONDE_HOTSPOT_DEADLOCK_WATCH_H
#define SONDE_HOTSPOT_DEADLOCK_WATCH_H

#include <jvmti.h>

int sonde_lookout_start(JNIEnv *env);
void sonde_lookout_stop(void);
void sonde_lookout_forked(void);

#endif
