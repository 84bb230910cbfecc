// How often methods were entered, as the interpreter counts it to decide what is to be compiled.
#ifndef SONDE_HOTSPOT_METHOD_ENTRIES_H
#define SONDE_HOTSPOT_METHOD_ENTRIES_H

#include <stdint.h>

// Once per session.
void sonde_method_entries_prepare(void);

// Of the VM's own record of a method. As long as it is the same the interpreter has not entered the
// method, in no thread. 0: unknown. Under the guard, in a signal handler.
uint64_t sonde_method_entries(uintptr_t method);

#endif
