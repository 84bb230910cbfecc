// Who a thread is: the threading.Thread at its outermost frame, and what that is called.
//
// From 3.12 starting a thread is an audit event, where the name can be asked for under the
// GIL. 3.11 has none: there the name is read from the object's attributes as they lie in memory.
#ifndef SONDE_THREAD_NAME_H
#define SONDE_THREAD_NAME_H

#include "../core/session.h"
#include "frames.h"

// The address of the threading.Thread whose _bootstrap the frame is; 1 if it is another function.
// May write the name into the ring of `thread`, so only its producer calls this.
uint64_t sonde_thread_object(sonde_thread *thread, const frame_t *root, const PyCodeObject *code);

#endif
