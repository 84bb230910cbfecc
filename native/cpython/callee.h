// Which C function a frame is in, read from the frame's own value stack.
#ifndef SONDE_CALLEE_H
#define SONDE_CALLEE_H

#include "../core/session.h"
#include "frames.h"

// The word for the C function that instruction `index` of frame `f` has called, 0 if that
// instruction calls nothing or calls no C function. Only for a frame that is not running Python
// code above itself.
uint64_t sonde_callee(sonde_thread *thread, const frame_t *f, PyCodeObject *code, Py_ssize_t index);

#endif
