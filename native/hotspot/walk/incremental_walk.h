// Stacks put together from what is known: of the last stack all that has not moved, and of frames
// that are new what is known of their code. HotSpot's own walker reads each frame again, and tables
// that the caches have lost since the last sample; it is needed for what is not known.
#ifndef SONDE_HOTSPOT_INCREMENTAL_WALK_H
#define SONDE_HOTSPOT_INCREMENTAL_WALK_H

#include "core/session/session.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/inline_cache.h"
#include "hotspot/walk/machine_frames.h"

typedef struct {
    sonde_thread *thread;
    sonde_place start;
    bool looks; // the frames of the last stack are known
    uint64_t now;
    uint32_t above;  // words that lie in sonde_stack already
    uint32_t depth;  // all the words there then
    uint32_t same;   // outermost words of the last stack that follow
    uint32_t frames; // that were looked at
    bool whole;      // they lead to where the VM called Java, or to those of the last stack
    // Words that are not known, though it is how many: they are left out of sonde_stack.
    uint32_t missing;
    // Compiled frames of which not even that is known; the outermost of them, and how many words
    // those inside and those outside of it have.
    uint32_t unknowns;
    sonde_code_place unknown;
    sonde_place unknown_at;
    uint32_t inside, outside;
} sonde_retraced;

typedef enum {
    SONDE_RETRACED,
    SONDE_RETRACE_WORDS, // the innermost `depth` words have to come from the walker
    SONDE_RETRACE_LEARN, // it has to walk everything, from which there is something to be learned
    SONDE_RETRACE_NOT,
} sonde_retrace_result;

sonde_retrace_result sonde_retrace(sonde_retraced *job);

// The walker has found the stack, or, if there are more unknown frames than one, the part of it
// that begins at `unknown_at`. True if it fits what is known, and something was learned from it.
bool sonde_retrace_learn(const sonde_retraced *job, const sonde_java_trace *trace);

// It is to be written now: the next one may refer to it.
void sonde_retrace_keep(const sonde_retraced *job);

// Of a stack that is kept, by Java words from the outermost one on: a word, and the slot through
// which what its frame has called returns to it. 0: a word that is not its frame's innermost one,
// or a frame that has not called any. And the slot through which the outermost one returns.
uint64_t sonde_retraced_word(const sonde_retraced *job, uint32_t word);
uintptr_t sonde_retraced_slot(const sonde_retraced *job, uint32_t word);
uintptr_t sonde_retraced_outermost(const sonde_retraced *job);

#endif
