// Signals that the interpreter's C handler has seen and no Python handler has run for.
#ifndef SONDE_CPYTHON_MARKED_SIGNALS_H
#define SONDE_CPYTHON_MARKED_SIGNALS_H

#include "core/signals/signal_handover.h"

// With the GIL, before sonde_cpython_marked_signals.
void sonde_marked_signals_prepare(void);
sonde_marked_signals sonde_cpython_marked_signals;

#endif
