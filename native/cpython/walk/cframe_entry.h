// The moment in which CPython 3.11 and 3.12 have a current C frame with nothing in it yet.
//
// _PyEval_EvalFrameDefault points tstate->cframe at a variable of its own some instructions before
// it fills that in: until then it holds whatever lay on the stack. On code that is often called
// from C, one sample in a hundred comes at that moment. From 3.13 on there is no such variable.
#ifndef SONDE_CPYTHON_CFRAME_ENTRY_H
#define SONDE_CPYTHON_CFRAME_ENTRY_H

#include "core/sampling/self_walk.h"
#include "cpython/frames/frames.h"

#if PY_VERSION_HEX < 0x030D0000

// The C frame that is to be believed for a thread interrupted at `context`; NULL if there is none.
const _PyCFrame *sonde_entry_cframe(const PyThreadState *state, const ucontext_t *context);

#endif

#endif
