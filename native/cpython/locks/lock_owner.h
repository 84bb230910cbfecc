// Finds the holder of a lock that is not released.
//
// A release names its owner, but in a deadlock there is none. The GIL knows its holder. A `with`
// statement keeps what it needs to leave on the value stack of its frame: the lock itself is found
// there. (A lock taken by a bare acquire() leaves no such trace; its owner stays unknown.)
#ifndef SONDE_CPYTHON_LOCK_OWNER_H
#define SONDE_CPYTHON_LOCK_OWNER_H

#include "core/session/records.h"

enum sonde_owner_answer {
    SONDE_OWNER_UNKNOWN, // no holder was found
    SONDE_OWNER_FOUND,
    SONDE_OWNER_LATER, // ask again after sonde_owner_pause()
};

// Looks through the frames of all threads that are off CPU for the holder of `lock`, as they were
// at some moment after `since`. If there is one, its stack is in sonde_stack(thread), *depth frames
// deep, and its thread id in *tid. All callers share one scan of the threads; its overhead limits
// how often one is made.
enum sonde_owner_answer sonde_find_owner(sonde_thread *thread, uint64_t lock, uint32_t kind,
                                         uint64_t since, uint32_t *tid, uint32_t *depth,
                                         sonde_event *event);

// Nanoseconds until the next scan may be made.
uint64_t sonde_owner_pause(void);

void sonde_owner_forked(void);

#endif
