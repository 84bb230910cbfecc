// Frames as they lie on a Java thread's stack, one for all the methods that were compiled into one
// another, from the innermost to its caller and so on. May be asked in a signal handler, under the
// guard: what is there is believed.
#ifndef SONDE_HOTSPOT_MACHINE_FRAMES_H
#define SONDE_HOTSPOT_MACHINE_FRAMES_H

#include "hotspot/vm/code_cache.h"
#include "hotspot/walk/walk_start.h"

typedef enum {
    SONDE_OTHER_FRAME, // the walk cannot continue from it
    SONDE_COMPILED_FRAME,
    SONDE_INTERPRETED_FRAME,
    SONDE_ENTRY_FRAME, // below it is the VM
} sonde_frame_kind;

typedef struct {
    sonde_place at;
    // Where the frame that it called keeps `at.pc`, to return to; NULL: it has not called any.
    const uintptr_t *slot;
    sonde_frame_kind kind;
    sonde_blob blob; // of a compiled one
} sonde_machine_frame;

// The frame that runs, or calls, at a place.
void sonde_frame_at(const sonde_place *place, sonde_machine_frame *out);

// The caller's, of a compiled or interpreted one. False if what lies there cannot be one.
bool sonde_frame_caller(const sonde_machine_frame *of, sonde_machine_frame *out);

// The VM's record of the method of one of the interpreter's, by its frame pointer.
uintptr_t sonde_interpreted_method(uintptr_t fp);

// What a frame that has called is as long as it goes on where it did: the slot in which its callee
// keeps that, and what it then finds there, which also determines its size, and with it the next
// slot. As long as the checks of all slots up to the outermost are what they were, so are the
// frames.
uint64_t sonde_frame_check(const uintptr_t *slot);

#endif
