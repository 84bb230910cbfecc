// Which part of the Java heap an address is in, by the structures that the VM exports for
// debuggers.
#ifndef SONDE_HOTSPOT_HEAP_MEMORY_H
#define SONDE_HOTSPOT_HEAP_MEMORY_H

#include "core/sampling/kernel_events.h"

// Once per session.
void sonde_heap_memory_prepare(void);

sonde_find_data sonde_hotspot_data;

#endif
