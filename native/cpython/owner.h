// Who holds a lock that nobody lets go of.
//
// A release names its owner, but in a deadlock there is none. The GIL knows its holder. A `with`
// statement keeps what it needs to leave on the value stack of its frame: the lock itself is found
// there. (A lock taken by a bare acquire() leaves no such trace; its owner stays unknown.)
#ifndef SONDE_OWNER_H
#define SONDE_OWNER_H

#include "../core/session.h"

// Looks through the frames of all threads that stand still for the holder of `lock`. If there is
// one, its stack lies in sonde_stack(thread), *depth frames deep, and its thread id is returned;
// else 0.
uint32_t sonde_find_owner(sonde_thread *thread, uint64_t lock, uint32_t kind, uint32_t *depth,
                          sonde_event *event);

#endif
