// What runs on every sample is placed together: between two samples the program evicts it from the
// caches, and each further page is one more TLB miss, the most expensive kind under virtualization.
#ifndef SONDE_CORE_HOT_H
#define SONDE_CORE_HOT_H

#define SONDE_HOT __attribute__((hot))

#endif
