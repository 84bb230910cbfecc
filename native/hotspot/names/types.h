// Classes of locks and of objects made: what they are called is told once each.
#ifndef SONDE_HOTSPOT_TYPES_H
#define SONDE_HOTSPOT_TYPES_H

#include "core/session/session.h"

#include <jvmti.h>

// The id of a class, told through `thread` at first sight; 0 if there was no room. The environment
// must be able to tag objects.
uint64_t sonde_type_of(sonde_thread *thread, jvmtiEnv *jvmti, jclass class);

#endif
