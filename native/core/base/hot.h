// What runs on every sample lies together: between two samples the program has thrown it out of the
// caches, and each page more is one more to find again, which in a virtual machine is the dearest.
#ifndef SONDE_CORE_HOT_H
#define SONDE_CORE_HOT_H

#define SONDE_HOT __attribute__((hot))

#endif
