// When sampled objects are collected: the VM reports the ends of objects that have a tag. It does
// so after a collection that found them unreachable, so an object looks alive until then.
#ifndef SONDE_HOTSPOT_OBJECT_ENDS_H
#define SONDE_HOTSPOT_OBJECT_ENDS_H

#include "core/session/session.h"

#include <jvmti.h>

// 0 or an errno. The caller is attached to the VM, as for both.
int sonde_object_ends_start(void);
void sonde_object_ends_stop(void);

// Has the VM report the end of an object; its id, or 0 if it will not.
uint64_t sonde_object_ends_follow(jobject object);
// Writes the ends for which a ring had no room.
void sonde_object_ends_flush(sonde_thread *thread);

#endif
