// Where a thread in generated code was called from, by what lies on its stack and what its code is
// about to do, where HotSpot's own walker cannot tell. May be asked in a signal handler, under the
// guard.
#ifndef SONDE_CALLERS_H
#define SONDE_CALLERS_H

#include "../core/trap.h"

// Where to walk from.
typedef struct {
    uintptr_t pc, fp;
    const uintptr_t *sp;
} sonde_place;

// Where the walker does well: nothing else is to be tried.
#define SONDE_WALKABLE 0u
// What may be tried, the likeliest first; at most so many. All but the surest of them are to be
// held against what is known of the thread.
#define SONDE_MOST_PLACES 8u
// Nothing is known of such code: the walker may know more.
#define SONDE_UNKNOWN_PLACE 99u
unsigned sonde_places(const ucontext_t *context, bool in_java, sonde_place *out);

#endif
