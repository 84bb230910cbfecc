// The calling thread's Java frames, by HotSpot's own walker for profilers.
#ifndef SONDE_HOTSPOT_WALK_H
#define SONDE_HOTSPOT_WALK_H

#include "core/sampling/self_walk.h"
#include "hotspot/vm/vm.h"

sonde_walk_self sonde_hotspot_walk;

// Finds out which of the VM's threads this one is, where that is not known yet.
void sonde_hotspot_identify(sonde_thread *thread);

#endif
