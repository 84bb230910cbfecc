// Walking the Python frames of a thread into words the recorder can decode.
#ifndef SONDE_CPYTHON_WALK_H
#define SONDE_CPYTHON_WALK_H

#include "core/sampling/self_walk.h"
#include "core/session/records.h"

#include <Python.h>

// The calling thread's own frames, whether or not it holds the GIL: while it is in the handler none
// of its frames can go away, nor the code objects they hold.
sonde_walk_self sonde_cpython_walk;
// The same for a hook, under a guard: a handler runs under its own.
uint32_t sonde_cpython_walk_guarded(sonde_thread *thread, sonde_event *event);

// The id of a code object that the calling thread runs or begins to run; 0: there is no room.
uint64_t sonde_cpython_id(sonde_thread *thread, PyCodeObject *code);

// The state that runs on the calling thread, if it holds the GIL.
PyThreadState *sonde_cpython_attached(const ucontext_t *context);
// The same, or the one it ran when it released the GIL; NULL: Python does not know the thread.
PyThreadState *sonde_cpython_own_state(const ucontext_t *context);

// The frames of another thread, which must not be running meanwhile (or the caller checks that it
// was not). Frames whose code was never seen are described from memory that thread keeps alive.
uint32_t sonde_cpython_walk_thread(sonde_thread *thread, PyThreadState *state, sonde_event *event);

// The innermost frame of the calling thread, or of another one, which does not run.
struct _PyInterpreterFrame *sonde_cpython_top(PyThreadState *state);

#endif
