// Which C function a frame is in, read from the frame's own value stack.
#ifndef SONDE_CPYTHON_C_CALLEE_H
#define SONDE_CPYTHON_C_CALLEE_H

#include "core/session/session.h"
#include "cpython/frames/frames.h"

// The word for the C function that instruction `index` of frame `f` (code `code`, known as `id`)
// has called; 0 if it calls none, or one that no name is known for. Only for a frame above which no
// other Python frame was called by the interpreter itself.
uint64_t sonde_callee(sonde_thread *thread, const frame_t *f, const PyCodeObject *code, uint64_t id,
                      Py_ssize_t index);

// Is what is called written in C? If not, the call shows as a Python frame sooner or later.
bool sonde_is_native(PyObject *callable);
// What defines it, which lives for good; 0 if it is not written in C, or nothing does. Aligned.
uint64_t sonde_native_key(PyObject *callable);
// The word for it; 0 if no name is known for it, or there is no room to report it.
uint64_t sonde_native_word(sonde_thread *thread, PyObject *callable);

#endif
