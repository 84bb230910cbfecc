#include "core/session/stack_delta.h"

#include "core/base/hot.h"

// How many words may be detached, how many kept words that must save, and how often in a row: what
// has not come back by then will not.
#define MAX_DETACHED 8
#define WORTH_KEEPING 32
#define MAX_DETACHED_RUN 100

SONDE_HOT bool sonde_walk_begins(sonde_thread *thread)
{
    bool known = thread->walked.known;
    thread->walked = (sonde_walked){0};
    return known;
}

SONDE_HOT uint32_t sonde_frame_find(sonde_thread *thread, const void *frame)
{
    uintptr_t marked = (uintptr_t)frame | SONDE_FRAME_MARKED;
    for (uint32_t word = thread->depth; word-- > 0;)
        if (*sonde_last_frame(thread, word) == marked)
            return word;
    return SONDE_NOWHERE;
}

SONDE_HOT sonde_stack_delta sonde_stack_compute_delta(const sonde_thread *thread, uint32_t depth,
                                                      uint8_t flags)
{
    if (flags & SONDE_UNDECODABLE)
        return (sonde_stack_delta){0, depth, false};
    uint32_t same = thread->walked.same, whole = same + depth;
    uint32_t shallower = whole < thread->last_stack_size ? whole : thread->last_stack_size;
    const uint64_t *now = thread->fresh + depth, *before = thread->last_stack + same;
    uint32_t keep = same;
    while (keep < shallower && *--now == *before++)
        keep++;
    uint32_t count = whole - keep;
    // Activations refer from one stack to the next, so the next one has to continue this one.
    bool detached =
        count && count <= MAX_DETACHED && keep + WORTH_KEEPING <= thread->last_stack_size &&
        thread->detached_run < MAX_DETACHED_RUN && !(flags & (SONDE_ACTIVATIONS | SONDE_TRUNCATED));
    return (sonde_stack_delta){keep, count, detached && keep};
}

SONDE_HOT void sonde_stack_written(sonde_thread *thread, const sonde_stack_delta *delta)
{
    sonde_walked *walked = &thread->walked;
    uint32_t depth = delta->keep + delta->count;
    thread->detached = delta->detached ? delta->count : 0;
    thread->detached_run = delta->detached ? thread->detached_run + 1 : 0;
    if (!delta->detached && (delta->count || !depth)) {
        for (uint32_t i = 0, word = depth; i < delta->count; i++)
            thread->last_stack[--word] = thread->fresh[i];
        thread->last_stack_size = depth;
    }
    // A stack that could not be decoded after all has lost its frames.
    walked->known = walked->traced && depth >= walked->same + walked->words;
    if (walked->known) {
        // The caller may have put words on top of what was walked; those have no frame.
        uint32_t traced = walked->words, top = walked->same + traced;
        for (uint32_t i = 0; i < traced; i++)
            *sonde_last_frame(thread, top - 1 - i) = *sonde_walked_frame(thread, i);
        for (uint32_t word = top; word < depth; word++)
            *sonde_last_frame(thread, word) = 0;
    }
    walked->traced = false;
    walked->same = 0;
    thread->depth = depth - thread->detached;
}

void sonde_stack_lost(sonde_thread *thread) { thread->walked = (sonde_walked){0}; }
