// The stack that a thread wrote last, and what of it the next walk may refer to.
//
// Stacks are written as what changed. What a shallow stack leaves of a deep one stays known: a
// recursion that ends and begins again adds no overhead. A few frames at other addresses than the
// many known ones are detached: they are for their record alone, and do not replace those.
//
// A runtime that can recognize a frame as the same activation as in the last stack need not even
// look at what is below it: nothing there can have changed. Its walk then ends at that frame and
// returns how many words of the last stack follow.
#ifndef SONDE_CORE_STACK_DELTA_H
#define SONDE_CORE_STACK_DELTA_H

#include "core/session/session.h"

// A walk begins. True if the frames of the last stack are known; from here on they are not, until
// what is walked has been written: marks that a walk makes belong to its own stack.
bool sonde_walk_begins(sonde_thread *thread);

// Which word of the last stack, outermost first, is the marked frame `frame`; SONDE_NOWHERE if it
// is none of them, or one of the sonde_thread.detached ones.
#define SONDE_NOWHERE UINT32_MAX
uint32_t sonde_frame_find(sonde_thread *thread, const void *frame);

// How the stack of `depth` words in sonde_stack, and those of the last one that the walk left out,
// differs from the last one.
sonde_stack_delta sonde_stack_compute_delta(const sonde_thread *thread, uint32_t depth,
                                            uint8_t flags);
// The stack was written, and is the last one now: the next one may refer to it.
void sonde_stack_written(sonde_thread *thread, const sonde_stack_delta *delta);
// The stack was not written: the last one stays, but nothing is known of its frames any more.
void sonde_stack_lost(sonde_thread *thread);

#endif
