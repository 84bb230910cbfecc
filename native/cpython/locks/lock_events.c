#define _GNU_SOURCE
#include "cpython/locks/lock_events.h"

#include "core/base/clock.h"
#include "core/hooks/waiter_table.h"
#include "core/session/stack_delta.h"
#include "cpython/walk/walk.h"

#include <errno.h>

// The end of a wait whose beginning was reported is reported in a pause too: a wait without an end
// would last for ever.
static bool is_end(const sonde_lock_event *event)
{
    return event->type == SONDE_LOCK_ACQUIRED || event->type == SONDE_LOCK_GAVE_UP;
}

// Fills in what the walk finds, and returns how deep the stack is.
static uint32_t walk(sonde_thread *thread, sonde_lock_event *event)
{
    sonde_event walked = {0};
    uint32_t depth = is_end(event) ? 0 : sonde_cpython_walk_guarded(thread, &walked);
    event->flags = walked.flags;
    event->interpreter = walked.interpreter;
    event->span = walked.span;
    return depth;
}

// False if it was not reported because locks are not recorded at the moment.
static bool report(sonde_lock_event *event)
{
    int saved = errno;
    bool paused = false;
    sonde_thread *thread = sonde_enter();
    if (thread && !(sonde_what() & SONDE_WHAT_LOCKS) && !is_end(event)) {
        paused = true;
        sonde_leave(thread);
    } else if (thread) {
        uint32_t depth = walk(thread, event);
        sonde_write_lock(thread, depth, event);
        sonde_leave(thread);
    }
    errno = saved;
    return !paused;
}

bool sonde_lock_prepare(sonde_lock_draft *draft, uint8_t type, uint32_t kind, uint64_t lock)
{
    int saved = errno;
    sonde_thread *thread = sonde_enter();
    bool entered = thread && (sonde_what() & SONDE_WHAT_LOCKS);
    if (entered) {
        sonde_lock_event event = {.lock = lock, .kind = kind, .type = type};
        uint32_t depth = walk(thread, &event);
        *draft = (sonde_lock_draft){thread, sonde_draft_lock(thread, depth, &event), type};
    } else if (thread) {
        sonde_leave(thread);
    }
    errno = saved;
    return entered;
}

void sonde_lock_commit(const sonde_lock_draft *draft, uint64_t sequence, uint64_t time)
{
    if (draft->record) {
        draft->record->sequence = sequence;
        draft->record->time = time;
        sonde_commit_lock(draft->thread, draft->type);
    }
    sonde_leave(draft->thread);
}

void sonde_lock_drop(const sonde_lock_draft *draft)
{
    sonde_stack_lost(draft->thread);
    sonde_leave(draft->thread);
}

bool sonde_lock_report(uint8_t type, uint32_t kind, uint64_t lock, uint64_t sequence, uint64_t time)
{
    sonde_lock_event event = {
        .time = time, .lock = lock, .sequence = sequence, .kind = kind, .type = type};
    return report(&event);
}

void sonde_lock_report_wait(uint32_t kind, uint64_t lock, uint64_t started, uint64_t sequence,
                            uint64_t time)
{
    sonde_lock_event event = {.time = time,
                              .lock = lock,
                              .kind = kind,
                              .type = SONDE_LOCK_WAITED,
                              .started = started,
                              .started_sequence = sequence};
    event.sequence = sonde_lock_sequence(lock);
    report(&event);
}

enum sonde_owner_answer sonde_lock_report_owner_as(sonde_thread *as, uint32_t kind, uint64_t lock,
                                                   uint64_t since)
{
    sonde_event seen = {0};
    uint32_t holder = 0, depth = 0;
    enum sonde_owner_answer answer =
        sonde_find_owner(as, lock, kind, since, &holder, &depth, &seen);
    if (answer != SONDE_OWNER_FOUND)
        return answer;
    sonde_lock_event event = {.time = sonde_now(),
                              .lock = lock,
                              .sequence = sonde_lock_sequence(lock),
                              .started = seen.thread_object,
                              .interpreter = seen.interpreter,
                              .kind = kind,
                              .holder = holder,
                              .type = SONDE_LOCK_OWNER_OBSERVED};
    sonde_write_lock(as, depth, &event);
    return SONDE_OWNER_FOUND;
}

enum sonde_owner_answer sonde_lock_report_owner(uint32_t kind, uint64_t lock, uint64_t since)
{
    int saved = errno;
    enum sonde_owner_answer answer = SONDE_OWNER_UNKNOWN;
    sonde_thread *thread = sonde_enter();
    if (thread && (sonde_what() & SONDE_WHAT_LOCKS))
        answer = sonde_lock_report_owner_as(thread, kind, lock, since);
    if (thread)
        sonde_leave(thread);
    errno = saved;
    return answer;
}
