// Where a thread in generated code was called from, by what lies on its stack and what its code is
// about to do, where HotSpot's own walker cannot find it. May be asked in a signal handler, under
// the guard.
#ifndef SONDE_HOTSPOT_WALK_START_H
#define SONDE_HOTSPOT_WALK_START_H

#include "core/sampling/self_walk.h"

// Where to walk from.
typedef struct {
    uintptr_t pc, fp;
    const uintptr_t *sp;
} sonde_place;

typedef struct {
    bool walkable; // the walker does well from where the thread is
    // What else may be tried, the likeliest first. What is walked from there is to be held against
    // what is known of the thread.
    unsigned count;
    sonde_place places[8];
} sonde_places;

// Of a thread that a signal has interrupted; `in_java`: it runs Java by its own account.
void sonde_find_places(const ucontext_t *context, bool in_java, sonde_places *out);

// Of one that has left Java from a routine: the caller of that, by what it put down of itself.
void sonde_find_places_below(const sonde_place *left, sonde_places *out);

#endif
