// Numbers of methods into which calls are inserted. A method keeps its number for good.
#ifndef SONDE_HOTSPOT_METHOD_NUMBERS_H
#define SONDE_HOTSPOT_METHOD_NUMBERS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_NO_NUMBER UINT32_MAX

// Its number, a new one at first sight; SONDE_NO_NUMBER if there are too many. Takes a lock.
uint32_t sonde_method_number(jmethodID method);
// The method of a number, NULL if there is none. Takes no lock.
jmethodID sonde_method_numbered(uint32_t number);

#endif
