// The moment in which CPython 3.11 and 3.12 have a current frame that does not know its caller yet.
//
// A call of a Python function by Python code sets the new frame's `previous` first and makes it
// current then, but compilers turn the two stores around (gcc 12: up to eleven instructions lie
// between them, at four of seven places). Meanwhile `previous` is what lay in that memory before:
// mostly, by luck, the same caller, else a frame of another time or no frame at all.
#ifndef SONDE_CPYTHON_UNLINKED_FRAME_H
#define SONDE_CPYTHON_UNLINKED_FRAME_H

#include "cpython/frames/frames.h"

// Is the caller of `f`, the current frame of its own thread, to be believed?
bool sonde_caller_is_set(const PyThreadState *state, const frame_t *f);

#endif
