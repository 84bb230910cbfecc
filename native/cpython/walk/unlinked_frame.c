#include "cpython/walk/unlinked_frame.h"

#if PY_VERSION_HEX >= 0x030D0000

// Checked in the builds of 3.13.0; from 3.14 on a frame is made with its caller.
bool sonde_caller_is_set(const PyThreadState *state, const frame_t *f)
{
    (void)state;
    (void)f;
    return true;
}

#else

static ptrdiff_t words_of(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    return code->co_framesize;
#else
    return code->co_nlocalsplus + code->co_stacksize + (ptrdiff_t)FRAME_SPECIALS_SIZE;
#endif
}

static bool called_from_c(const PyThreadState *state, const frame_t *f)
{
#if PY_VERSION_HEX >= 0x030C0000
    // The frame of the entry is a variable of the same function as the C frame.
    return (uintptr_t)f->previous + 4096 - (uintptr_t)state->cframe < 8192;
#else
    const _PyCFrame *before = state->cframe->previous;
    return frame_is_entry(f) && f->previous == (before ? before->current_frame : NULL);
#endif
}

// A frame that was just pushed lies right behind its caller's, or begins a piece of the stack.
static bool called_from_below(const PyThreadState *state, const frame_t *f)
{
    PyObject **start = (PyObject **)f, **first = state->datastack_chunk->data;
    PyObject **caller = (PyObject **)f->previous;
    if (start == first || start == first + 1)
        return true;
    if (caller < first || caller >= start)
        return false;
    const PyCodeObject *code = frame_code(f->previous);
    return code && !((uintptr_t)code & 7) && Py_TYPE(code) == &PyCode_Type &&
           caller + words_of(code) == start;
}

// Frames of generators lie anywhere; the caller's own is running.
static bool called_from_generator(const frame_t *f)
{
    if (f->previous->owner != FRAME_OWNED_BY_GENERATOR)
        return false;
    const PyGenObject *generator = _PyFrame_GetGenerator((frame_t *)f->previous);
    return generator->gi_frame_state == FRAME_EXECUTING;
}

bool sonde_caller_is_set(const PyThreadState *state, const frame_t *f)
{
    if (f->owner != FRAME_OWNED_BY_THREAD || frame_instr(f) >= code_start(frame_code(f)))
        return true; // it has begun
    if (called_from_c(state, f))
        return true;
    return f->previous && !((uintptr_t)f->previous & 7) &&
           (called_from_below(state, f) || called_from_generator(f));
}

#endif
