#include "core/session/stack_delta.h"

#include "core/base/hot.h"

// Words that may be set aside, how many told ones that must save, and how often in a row: what does
// not come back by then is gone.
#define MAX_ASIDE 8
#define WORTH_KEEPING 32
#define MAX_ASIDE_LENGTH 100

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
        if (*sonde_frame_told(thread, word) == marked)
            return word;
    return SONDE_NOWHERE;
}

SONDE_HOT sonde_change sonde_stack_change(const sonde_thread *thread, uint32_t depth, uint8_t flags)
{
    if (flags & SONDE_UNDECODABLE)
        return (sonde_change){0, depth, false};
    uint32_t same = thread->walked.same, whole = same + depth;
    uint32_t shallower = whole < thread->known_words ? whole : thread->known_words;
    const uint64_t *now = thread->fresh + depth, *before = thread->told + same;
    uint32_t keep = same;
    while (keep < shallower && *--now == *before++)
        keep++;
    uint32_t count = whole - keep;
    // Activations are told from one stack to the next, so the next one has to continue this one.
    bool aside = count && count <= MAX_ASIDE && keep + WORTH_KEEPING <= thread->known_words &&
                 thread->asides < MAX_ASIDE_LENGTH &&
                 !(flags & (SONDE_ACTIVATIONS | SONDE_TRUNCATED));
    return (sonde_change){keep, count, aside && keep};
}

SONDE_HOT void sonde_stack_written(sonde_thread *thread, const sonde_change *change)
{
    sonde_walked *walked = &thread->walked;
    uint32_t depth = change->keep + change->count;
    thread->aside = change->aside ? change->count : 0;
    thread->asides = change->aside ? thread->asides + 1 : 0;
    if (!change->aside && (change->count || !depth)) {
        for (uint32_t i = 0, word = depth; i < change->count; i++)
            thread->told[--word] = thread->fresh[i];
        thread->known_words = depth;
    }
    // One that could not be decoded after all has lost its frames.
    walked->known = walked->traced && depth >= walked->same + walked->words;
    if (walked->known) {
        // The caller may have put words on top of what was walked; those have no frame.
        uint32_t traced = walked->words, top = walked->same + traced;
        for (uint32_t i = 0; i < traced; i++)
            *sonde_frame_told(thread, top - 1 - i) = *sonde_frame_walked(thread, i);
        for (uint32_t word = top; word < depth; word++)
            *sonde_frame_told(thread, word) = 0;
    }
    walked->traced = false;
    walked->same = 0;
    thread->depth = depth - thread->aside;
}

void sonde_stack_lost(sonde_thread *thread) { thread->walked = (sonde_walked){0}; }
