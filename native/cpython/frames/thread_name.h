// Who a thread is: the threading.Thread at its outermost frames, and what that is called.
//
// From 3.12 starting a thread is an audit event, where the name can be asked for under the
// GIL. 3.11 has none: there the name is read from the object's attributes as they lie in memory.
#ifndef SONDE_CPYTHON_THREAD_NAME_H
#define SONDE_CPYTHON_THREAD_NAME_H

#include "core/session/session.h"
#include "cpython/frames/frames.h"

// A thread's outermost frame, and the one that it called.
typedef struct {
    const frame_t *root, *called;
    PyCodeObject *root_code, *called_code;
} sonde_outer;

// The address of the threading.Thread whose _bootstrap is one of the two: debuggers start threads
// through a function of their own. 1 if there is none. May write the name into the ring of
// `thread`, so only its producer calls this.
uint64_t sonde_thread_object(sonde_thread *thread, const sonde_outer *outer);

#endif
