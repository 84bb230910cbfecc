// Symbols and classes as they are written in source code. May be called in a signal handler.
#ifndef SONDE_HOTSPOT_DEMANGLE_H
#define SONDE_HOTSPOT_DEMANGLE_H

#include <stddef.h>

// `_ZN6Parker4parkEbl` becomes `Parker::park`: names within names of C++ (Itanium ABI), without
// arguments; what is more complicated than that, or no C++, stays as it is. Returns the length
// written to `to`, which is not ended by a zero.
size_t sonde_demangle(const char *symbol, char *to, size_t room);

// A class, from its signature in the VM: `Lorg/app/Main$$Lambda$14.0x00c032;` (a hidden class: its
// address follows) becomes `org.app.Main$$Lambda`.
size_t sonde_class_name(const char *signature, char *to, size_t room);

#endif
