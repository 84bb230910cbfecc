// Probes at lines of code objects, by LINE events of those code objects alone: other code is not
// instrumented, and lines without a probe switch their events off at the first one. From 3.12 on.
#ifndef SONDE_CPYTHON_LINE_PROBES_H
#define SONDE_CPYTHON_LINE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

// All with the GIL of the main interpreter.

// Does what the recorder ordered in the session's area, if that has changed.
void sonde_line_probes_apply(void);
// Removes everything; the area is not touched any more.
void sonde_line_probes_remove(void);
// In a forked child, which has another area: what its parent watches is compared with that.
void sonde_line_probes_forked(void);

#endif
