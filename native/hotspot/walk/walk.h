// The calling thread's Java frames, by HotSpot's own walker for profilers.
#ifndef SONDE_HOTSPOT_WALK_H
#define SONDE_HOTSPOT_WALK_H

#include "core/sampling/sigtrap.h"
#include "hotspot/vm/vm.h"

sonde_walk_self sonde_hotspot_walk;

// The word of one of the frames that it tells; 0 if there was no room to tell what it is.
uint64_t sonde_java_word(sonde_thread *thread, const sonde_java_frame *frame);

// Tells which of the VM's threads this one is, where that is not known yet.
void sonde_hotspot_is(sonde_thread *thread);

#endif
