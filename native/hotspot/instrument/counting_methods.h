// The methods by which entries of methods are counted in windows: the load, compare and branch of
// Arnold & Grove (CGO 2005), as a method that both compilers inline.
#ifndef SONDE_HOTSPOT_COUNTING_METHODS_H
#define SONDE_HOTSPOT_COUNTING_METHODS_H

#include "hotspot/instrument/class_maker.h"

#include <stdatomic.h>

// What compiled code and the agent share. It is in the library, which is never unmapped, and the
// code has its address as a constant.
typedef struct {
    _Alignas(64) _Atomic int32_t open; // a window is
    _Atomic int32_t left;              // calls until the native method is to be called
} sonde_counting_words;

extern sonde_counting_words sonde_counting;

// The native method: returns whether the calling thread's window goes on (1) or ended (-1); 0: it
// is of another thread.
#define SONDE_SEEN_NAME "seen"
#define SONDE_SEEN_TYPE "()I"
// Whose calls are counted without the native method.
#define SONDE_COUNTED_THREAD_NAME "counted"
#define SONDE_COUNTED_THREAD_TYPE "Ljava/lang/Thread;"
// Makes eight calls in each of as many rounds as the argument says.
#define SONDE_TRAINING_COUNTS "trainCounts"
#define SONDE_TRAINING_COUNTS_CALLS 8u

void sonde_counting_methods_add(sonde_class_maker *maker);

#endif
