#include "drain/locks.h"

#include "core/session/shm.h"

#include <string.h>

// As in src/sonde/recording/format/schema.py.
#define TIME_LIMIT ((int64_t)1 << 60)

static bool fits(int64_t time) { return time > -TIME_LIMIT && time < TIME_LIMIT; }

// The context of the record's stack; -1 if some frame is not known. Until it is complete nothing
// counts: what was written beyond `keep` is written again.
static int32_t context_of(const sonde_process_tables *tables, sonde_thread_state *state,
                          const sonde_rec_lock *event, const uint8_t *frames)
{
    uint32_t keep = event->keep, count = event->count;
    bool detached = event->rec.flags & SONDE_DETACHED;
    int32_t context = keep ? state->stack[keep - 1] : -1;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word; // innermost first
        memcpy(&word, frames + 8 * (size_t)(count - 1 - i), sizeof word);
        const sonde_map_entry *found = sonde_map_find(&tables->frames, (uint32_t)context, word);
        if (!found)
            return -1;
        context = found->row;
        if (!detached)
            state->stack[keep + i] = context;
    }
    state->depth = detached ? keep : keep + count;
    if (!detached && (count || !keep))
        state->known = keep + count;
    if (keep < state->unchanged)
        state->unchanged = keep;
    return context;
}

static bool stack_is_common(const sonde_thread_state *state, const sonde_rec_lock *event,
                            uint64_t frames)
{
    return !(event->rec.flags & SONDE_UNDECODABLE) && event->keep <= state->known &&
           event->count <= frames && (uint64_t)event->keep + event->count <= state->room &&
           (event->keep || (event->count && !(event->rec.flags & SONDE_TRUNCATED)));
}

// Is what the recorder keeps of waits and holders as it would be?
static bool wait_is_common(const sonde_process_tables *tables, const sonde_thread_state *state,
                           const sonde_rec_lock *event)
{
    const sonde_open_wait *wait = &state->wait;
    switch (event->rec.state) {
    case SONDE_LOCK_WAIT_BEGIN:
        return wait->open == SONDE_WAIT_NONE;
    case SONDE_LOCK_ACQUIRED:
    case SONDE_LOCK_GAVE_UP:
        return wait->open == SONDE_WAIT_HERE && wait->lock == event->lock &&
               wait->kind == event->kind && event->time - wait->time < tables->notable_ns;
    case SONDE_LOCK_WAITED:
        return event->time - event->started < tables->notable_ns &&
               fits((int64_t)(event->started - tables->origin)) &&
               event->started_sequence <= INT64_MAX;
    case SONDE_LOCK_RELEASED:
        return true;
    default:
        return false;
    }
}

static bool take(sonde_process_tables *tables, sonde_thread_state *state,
                 const sonde_rec_lock *event, const uint8_t *frames, uint64_t count)
{
    uint8_t type = event->rec.state;
    int64_t time = (int64_t)(event->time - tables->origin);
    if (event->holder & SONDE_VIRTUAL || state->thread < 0 || !fits(time) ||
        event->sequence > INT64_MAX || !wait_is_common(tables, state, event))
        return false;
    if (event->span && (event->span != state->span || state->spans != tables->spans))
        return false;
    if (sonde_lock_has_stack(type) &&
        (event->interpreter != state->interpreter || !stack_is_common(state, event, count)))
        return false;
    const sonde_map_entry *lock = sonde_map_find(&tables->locks, event->lock, event->kind);
    if (!lock || lock->flags & SONDE_LOCK_HAS_HOLDER ||
        (type == SONDE_LOCK_WAIT_BEGIN && event->started && !(lock->flags & SONDE_LOCK_HAS_TYPE)))
        return false;
    if (!sonde_rows_reserve(tables->rows, 2))
        return false;
    int32_t context = sonde_lock_has_stack(type) ? context_of(tables, state, event, frames) : -1;
    if (sonde_lock_has_stack(type) && context < 0)
        return false;

    sonde_row row = {{
        [SONDE_ROW_THREAD] = state->thread,
        [SONDE_ROW_TIME] = time,
        [SONDE_ROW_LOCK] = lock->row,
        [SONDE_ROW_SEQUENCE] = (int64_t)event->sequence,
        [SONDE_ROW_TYPE] = type,
        [SONDE_ROW_CONTEXT] = context,
        [SONDE_ROW_SPAN] = event->span ? state->span_row : -1,
        [SONDE_ROW_TASK] = (int64_t)state->task,
    }};
    if (type == SONDE_LOCK_WAITED) { // both ends of it
        sonde_row began = row;
        began.column[SONDE_ROW_TIME] = (int64_t)(event->started - tables->origin);
        began.column[SONDE_ROW_SEQUENCE] = (int64_t)event->started_sequence;
        began.column[SONDE_ROW_TYPE] = SONDE_LOCK_WAIT_BEGIN;
        sonde_rows_add(tables->rows, &began);
        row.column[SONDE_ROW_TYPE] = SONDE_LOCK_ACQUIRED;
        row.column[SONDE_ROW_CONTEXT] = -1;
    }
    sonde_rows_add(tables->rows, &row);
    if (type == SONDE_LOCK_WAIT_BEGIN)
        state->wait = (sonde_open_wait){event->time, event->lock, event->sequence, event->started,
                                        context,     event->span, event->kind,     1};
    else if (!sonde_lock_has_stack(type))
        state->wait.open = SONDE_WAIT_NONE;
    return true;
}

uint64_t sonde_drain_locks(sonde_process_tables *tables, sonde_thread_state *state,
                           const uint8_t *ring, uint64_t ring_size, uint64_t tail, uint64_t head)
{
    while (tail < head) {
        uint64_t at = tail & (ring_size - 1);
        // The recorder reports what is wrong here.
        sonde_rec_lock event;
        if (ring_size - at < sizeof event.rec)
            break;
        memcpy(&event.rec, ring + at, sizeof event.rec);
        uint64_t size = event.rec.size;
        if (size < sizeof event.rec || size & 7 || size > head - tail || size > ring_size - at)
            break;
        if (event.rec.kind == SONDE_REC_LOCK) {
            if (size < sizeof event)
                break;
            memcpy((uint8_t *)&event + sizeof event.rec, ring + at + sizeof event.rec,
                   sizeof event - sizeof event.rec);
            if (!take(tables, state, &event, ring + at + sizeof event, (size - sizeof event) / 8))
                break;
        } else if (event.rec.kind != SONDE_REC_PAD) {
            break;
        }
        tail += size;
    }
    return tail;
}
