// Which function of which library contains an address; may be called in a signal handler.
//
// The loader's own answer (dladdr) takes its lock. So the libraries' symbol tables are mapped
// beforehand; what was once found stays, and a handler only reads.
#ifndef SONDE_HOTSPOT_NATIVE_SYMBOLS_H
#define SONDE_HOTSPOT_NATIVE_SYMBOLS_H

#include "core/session/session.h"

// Looks for libraries that were loaded since. Not in a handler; one caller at a time.
void sonde_natives_refresh(void);

// The frame word of the native function at `pc`; 0 if that is no library's code (the VM compiles
// into anonymous memory), or there was no room to report its name.
uint64_t sonde_native_at(sonde_thread *thread, uintptr_t pc);

// After the session, and when no handler runs.
void sonde_natives_forget(void);

#endif
