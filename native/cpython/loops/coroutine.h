// Coroutines that do not run: in which state they are, and which ones they await.
#ifndef SONDE_CPYTHON_COROUTINE_H
#define SONDE_CPYTHON_COROUTINE_H

#include "cpython/frames/frames.h"

#include "core/session/session.h"

enum sonde_coroutine_state {
    SONDE_COROUTINE_UNKNOWN, // of another type than the interpreter's
    SONDE_COROUTINE_CREATED, // has not begun
    SONDE_COROUTINE_BEGUN,
    SONDE_COROUTINE_FINISHED,
};

// The caller holds the GIL, and the object is alive.
enum sonde_coroutine_state sonde_coroutine_state_of(PyObject *coroutine);
// The code that it runs; NULL if it is of another type.
PyCodeObject *sonde_coroutine_code(PyObject *coroutine);

// The words of the coroutines that a suspended one awaits, and its own, innermost first, into
// `words`. Returns how many there are; `object` is the first argument of the innermost one, NULL if
// it has none. `thread` is entered.
uint32_t sonde_coroutine_stack(sonde_thread *thread, PyObject *coroutine, uint64_t *words,
                               uint32_t room, const void **object);

#endif
