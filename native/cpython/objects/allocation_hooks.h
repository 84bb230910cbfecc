// Hooks in the interpreter's allocators that sample allocations.
//
// The interpreter has three domains. Small blocks of OBJ and MEM come from pymalloc's pools; what
// it does not serve falls through to RAW, so OBJ and MEM count small blocks only and nothing is
// counted twice. A small block that is sampled is taken from RAW as well: pymalloc passes on what
// is not its own, so its end is seen there, and the frees of all other small blocks need no hook.
#ifndef SONDE_CPYTHON_ALLOCATION_HOOKS_H
#define SONDE_CPYTHON_ALLOCATION_HOOKS_H

#include <stdbool.h>

// False: the interpreter uses another allocator. `in_windows`: small blocks are sampled only while
// a window is open. The caller has the GIL.
bool sonde_allocation_hooks_start(bool in_windows);
// Puts back what was there. Where another tool has hooked above ours, they stay and only pass on.
// The caller has the GIL, or is a forked child's only thread.
void sonde_allocation_hooks_stop(void);

// Opens or closes a window; needs no GIL from 3.12 on. Not while they are started or stopped.
void sonde_allocation_window(bool open);

#endif
