// Stacks outside of the sampler's handler: of a thread that called us, or of another one.
#ifndef SONDE_HOTSPOT_JVMTI_STACKS_H
#define SONDE_HOTSPOT_JVMTI_STACKS_H

#include "core/session/records.h"

#include <jvmti.h>

// The stack of a Java thread by JVMTI, NULL: the calling one, which is in a callback or a native
// method. The depth; in `event` the flags and, of the calling one, the span.
uint32_t sonde_stack_of(sonde_thread *to, jvmtiEnv *jvmti, jthread thread, sonde_event *event);

// The stack of the calling thread, which is somewhere inside of the VM: `frame` is that of a
// function that the VM has called.
uint32_t sonde_stack_below(sonde_thread *to, const void *frame, sonde_event *event);

#endif
