// Objects as they are allocated: the VM samples allocations, one in so many bytes.
#ifndef SONDE_HOTSPOT_ALLOCATION_SAMPLES_H
#define SONDE_HOTSPOT_ALLOCATION_SAMPLES_H

#include <jvmti.h>

// 0 or an errno. The caller is attached to the VM, as for both.
int sonde_objects_start(void);
void sonde_objects_stop(void);

#endif
