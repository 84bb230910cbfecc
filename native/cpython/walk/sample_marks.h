// Which frames are the very activations that this thread's last sample had.
//
// A walk that finds the same functions at the same places may have found the same calls still going
// on, or others of the same kind; frames are at the addresses of their predecessors. A mark that
// goes with the call distinguishes them. Whaley takes a bit of the return address. Here it is the
// place where the caller waits for the result:
//
// - A frame called by Python code: the slot of the caller's value stack into which its result will
//   be pushed, the first one above those in use. It held what was called, or an operand, and is
//   dead while the call lasts. The result overwrites it; after an exception the next call from
//   that height does, for whatever is called has to be put there first.
// - A frame called by C code: the frame of the entry, of which each entry makes a new one (from
//   3.12 on). No code reads its code object. On 3.11 the flag in the callee that says so, which
//   each entry sets to 1: it is tested for being set, and 3 is.
//
// A generator that is resumed is another activation of the same frame.
//
// Nothing that the interpreter uses changes, and what is left behind lies in dead memory.
//
// The marks of walk_marks.h are of another kind, and one mechanism cannot serve both. A walk ends
// at those, so they belong to the thread's last stack, whatever it was for: each walk renews them,
// and a frame without one only makes the walk longer. These are counted: they belong to the last
// sample, also after lock events and calls have walked the stack since, and every frame has one or
// the walk counts none. From 3.13 on a walk mark is a store of None into the frame itself, without
// the code's stack size or the value stack; to give it up for these would add two loads from cold
// memory per frame to every walk.
#ifndef SONDE_CPYTHON_SAMPLE_MARKS_H
#define SONDE_CPYTHON_SAMPLE_MARKS_H

#include "core/session/records.h"
#include "cpython/frames/frames.h"

#define SONDE_NO_WORD UINT32_MAX

typedef struct {
    bool any;        // a frame has been seen
    bool found;      // one that was marked: all below it are as they were
    bool unclear;    // one without a place for a mark
    bool unbegun;    // the call of the innermost may not be complete
    uint32_t callee; // the frame whose caller comes next, by its word; SONDE_NO_WORD: there is none
    uint32_t last;   // the innermost frame that was marked, by its word
    uint32_t count;  // places to be marked
} sonde_sample_marks;

#define SONDE_NO_SAMPLE_MARKS ((sonde_sample_marks){.callee = SONDE_NO_WORD})

// Once, with the GIL, before the first walk.
void sonde_sample_marks_prepare(void);

// A frame that is shown, whose word is `word`, innermost first.
void sonde_sample_marks_frame(sonde_sample_marks *seen, sonde_thread *thread, frame_t *f,
                              const PyCodeObject *code, Py_ssize_t index, uint32_t word);
// The frame of an entry from C.
void sonde_sample_marks_entry(sonde_sample_marks *seen, sonde_thread *thread, frame_t *shim);
// The walk is complete: marks what was not marked, and sets in `event` what was.
void sonde_sample_marks_end(sonde_sample_marks *seen, sonde_thread *thread, uint32_t depth,
                            sonde_event *event);

#endif
