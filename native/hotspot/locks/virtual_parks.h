// Virtual threads that park for java.util.concurrent.
#ifndef SONDE_HOTSPOT_VIRTUAL_PARKS_H
#define SONDE_HOTSPOT_VIRTUAL_PARKS_H

#include <stdbool.h>

void sonde_virtual_parks_start(void);
void sonde_virtual_parks_stop(void);
// Does the VM report when one leaves its carrier?
bool sonde_virtual_followed(void);

#endif
