// Call sites: where on the frame's value stack the callable of a call instruction lies.
//
// A running frame does not contain the depth of its value stack (3.11 to 3.13 never, 3.14 and 3.15
// only around some calls), but the depth at an instruction follows from the bytecode alone. It is
// worked out when a site is first sampled and remembered.
#ifndef SONDE_CPYTHON_CALL_SITES_H
#define SONDE_CPYTHON_CALL_SITES_H

#include "core/session/session.h"
#include "cpython/frames/frames.h"

#define SITE_NONE (-1)

// The index in localsplus of the callable of the call at instruction `index`, SITE_NONE where that
// is no call or cannot be determined. `id` names the code object. Up to 3.12 the slot may be NULL;
// then the callable is in the next one.
int sonde_call_site(sonde_thread *thread, uint64_t id, const PyCodeObject *code, Py_ssize_t index);

// Does the caller's instruction call the function of this frame, which is about to begin, with no C
// function in between? It does if it was specialised for that very function. False if that cannot
// be determined so, which takes only a read of memory that is in the caches. With the GIL held, for
// it also takes back that the instruction counted a miss, which was ours.
bool sonde_calls_directly(const frame_t *caller, const frame_t *called);

// How many values are on the value stack before instruction `index`; 0 if that is unknown.
int sonde_stack_depth(sonde_thread *thread, const PyCodeObject *code, Py_ssize_t index);
// How many of them the instruction takes.
int sonde_operands(const PyCodeObject *code, Py_ssize_t index);

#endif
