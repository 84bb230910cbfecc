// Calls that began while a window showed all calls and have not returned yet.
//
// The interpreter decides when a call begins whether it will report the return of the C function.
// If it did so for us, and the program's own tool is turned on before the call returns, that tool
// would get the return of a call that began before it: these returns are kept from it, after the
// end of the session, too.
//
// All with the GIL held.
#ifndef SONDE_CPYTHON_PENDING_CALLS_H
#define SONDE_CPYTHON_PENDING_CALLS_H

#include "cpython/frames/frames.h"

// The frame begins a call at this instruction; `reported`: its return will be.
void sonde_pending_begins(PyThreadState *state, const frame_t *frame, Py_ssize_t index,
                          bool reported);
// Does this return belong to such a call?
bool sonde_pending_returns(const PyThreadState *state, const frame_t *frame, Py_ssize_t index);
// Forgets calls that have returned. How many are left?
int sonde_pending_count(PyInterpreterState *interpreter);

#endif
