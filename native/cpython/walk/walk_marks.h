// Is this frame the same activation as in the thread's last stack? Where it lies, what it runs and
// which line it is on do not decide it: under recursion another one is soon there that has all the
// same. A mark decides it that every call overwrites, and nothing else.
//
// From 3.13 on that is f_locals of functions, which neither interpreter nor program looks at any
// more (PEP 667) but for `import`, to which NULL and None are the same: we put None there, and a
// call that makes its frame there puts NULL. None is immortal, so taking the frame down does not
// mind.
//
// Up to 3.12 f_locals is what locals() and tracers see, and no other field of a frame is free.
// There it is the place on the caller's value stack where the result of its call will be (as in
// sample_marks.h): dead while the call lasts, and overwritten by each call from there, which has to
// put there what is called. Only calls between Python functions have it, and it is touched only if
// who was called waits for another call itself: while one begins or ends the place is in use.
#ifndef SONDE_CPYTHON_WALK_MARKS_H
#define SONDE_CPYTHON_WALK_MARKS_H

#include "cpython/frames/frames.h"

typedef struct {
    bool off;   // samples mark the same places for themselves, see sample_marks.h
    bool waits; // the frame above this one was called by Python code, and waits for a call itself
} activations_t;

#if PY_VERSION_HEX >= 0x030D0000

// Can this one be marked? Generators are resumed by different callers, modules and classes use
// their f_locals.
static inline bool activation_can_be_marked(const activations_t *at, const frame_t *f,
                                            const PyCodeObject *code, bool is_function)
{
    (void)at;
    (void)code;
    return is_function && f->owner == FRAME_OWNED_BY_THREAD;
}

static inline bool activation_is_marked(const frame_t *f) { return f->f_locals == Py_None; }

// False if something else is there (a function's code that exec() runs).
static inline bool activation_mark(frame_t *f)
{
    if (f->f_locals)
        return false;
    f->f_locals = Py_None;
    return true;
}

static inline void activations_pass(activations_t *at, const frame_t *f, bool innermost)
{
    (void)at;
    (void)f;
    (void)innermost;
}

#else

typedef struct {
    PyObject object;
} sonde_object;
extern sonde_object sonde_activation_mark;

static inline bool activation_can_be_marked(const activations_t *at, const frame_t *f,
                                            const PyCodeObject *code, bool is_function)
{
    (void)is_function;
    return !at->off && at->waits && frame_result_slot(f, code);
}

static inline bool activation_is_marked(const frame_t *f)
{
    return f->localsplus[f->stacktop] == &sonde_activation_mark.object;
}

static inline bool activation_mark(frame_t *f)
{
    f->localsplus[f->stacktop] = &sonde_activation_mark.object;
    return true;
}

// What resumes a generator puts nothing there first: the mark of another call might be left.
static inline void activations_pass(activations_t *at, const frame_t *f, bool innermost)
{
    at->waits = !innermost && f->owner == FRAME_OWNED_BY_THREAD && !frame_is_entry(f);
}

#endif

// C code comes next.
static inline void activations_enter(activations_t *at) { at->waits = false; }

#endif
