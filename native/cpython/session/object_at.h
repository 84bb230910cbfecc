// Which object contains an address.
#ifndef SONDE_CPYTHON_OBJECT_AT_H
#define SONDE_CPYTHON_OBJECT_AT_H

#include "core/sampling/kernel_events.h"

sonde_find_data sonde_cpython_data;

#endif
