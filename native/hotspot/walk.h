// The calling thread's Java frames, by HotSpot's own walker for profilers.
#ifndef SONDE_HOTSPOT_WALK_H
#define SONDE_HOTSPOT_WALK_H

#include "../core/trap.h"

sonde_walk_self sonde_hotspot_walk;

#endif
