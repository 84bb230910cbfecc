// Classes of locks and of allocated objects: each name is reported once.
#ifndef SONDE_HOTSPOT_TYPES_H
#define SONDE_HOTSPOT_TYPES_H

#include "core/session/session.h"

#include <jvmti.h>

// The id of a class, reported through `thread` at first sight; 0 if there was no room. The
// environment must be able to tag objects.
uint64_t sonde_type_of(sonde_thread *thread, jvmtiEnv *jvmti, jclass class);

#endif
