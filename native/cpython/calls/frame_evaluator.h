// The evaluator of frames (PEP 523), a pointer of the interpreter's: the function there is called
// for each frame that begins, however it is called, with the GIL held and everything allowed. It
// may be stored in a signal handler, where nothing else can be switched on.
//
// 3.13 does not call it for an __init__ that it inlines; the others do for all.
#ifndef SONDE_CPYTHON_FRAME_EVALUATOR_H
#define SONDE_CPYTHON_FRAME_EVALUATOR_H

#include "cpython/frames/frames.h"

#define FRAMES_ARE_EVALUATED (PY_VERSION_HEX < 0x030D0000 || PY_VERSION_HEX >= 0x030E0000)

// NULL is the interpreter's own.
typedef _PyFrameEvalFunction sonde_evaluator;

static inline sonde_evaluator sonde_evaluator_of(PyInterpreterState *interpreter)
{
    return __atomic_load_n(&interpreter->eval_frame, __ATOMIC_ACQUIRE);
}

static inline void sonde_evaluate_by(PyInterpreterState *interpreter, sonde_evaluator evaluator)
{
    __atomic_store_n(&interpreter->eval_frame, evaluator, __ATOMIC_RELEASE);
}

// Only if it is `ours`: a handler may have put another one there, and code that took ours for the
// program's own may have put it back.
static inline void sonde_evaluate_no_more(PyInterpreterState *interpreter, sonde_evaluator ours)
{
    __atomic_compare_exchange_n(&interpreter->eval_frame, &ours, NULL, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

// No code may be called in a frame that an exception is thrown into; in the next one it may.
static inline bool sonde_frame_may_call(const PyThreadState *state, int throws)
{
#if PY_VERSION_HEX >= 0x030C0000
    return !throws && !state->current_exception;
#else
    return !throws && !state->curexc_type;
#endif
}

#endif
