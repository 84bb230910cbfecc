// Sampled blocks on their way to the recorder: allocated, looked into, freed.
#ifndef SONDE_CPYTHON_OBJECT_SAMPLES_H
#define SONDE_CPYTHON_OBJECT_SAMPLES_H

#include "cpython/objects/countdown.h"
#include "cpython/objects/sampled_blocks.h"

enum {                // what allocated a block
    SONDE_BY_OBJECTS, // an object, or what an object keeps outside of itself
    SONDE_BY_BUFFERS, // no object in any case
};

// Of an allocation for which sonde_counts() was true: is it to be sampled?
bool sonde_object_due(int which, size_t size);

// Reports a block just allocated; `at` NULL: it was not. `library` is who allocated it, NULL the
// interpreter.
void sonde_object_sampled(const void *at, size_t size, int which, int by, const char *library);

// A block is about to be freed, for which sonde_may_be_sampled() was true.
void sonde_object_freed(const void *at);

// Around a reallocation of such a block, because another thread may get its address before it
// returns. False: it is none of ours.
bool sonde_object_moving(const void *at, sonde_block *block);
void sonde_object_moved(uintptr_t at, sonde_block *block, bool failed);

// When small allocations are sampled.
enum {
    SONDE_WINDOW_NONE, // always
    SONDE_WINDOW_CLOSED,
    SONDE_WINDOW_OPEN,
};
void sonde_object_set_window(int state);
// How many were taken in windows, of all sessions; it wraps around.
uint32_t sonde_object_taken_in_windows(void);

// Reports what the blocks are that were not looked into yet. The caller has the GIL, and allocates
// nothing meanwhile.
void sonde_objects_look_at_all(void);

#endif
