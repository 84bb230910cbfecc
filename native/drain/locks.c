#include "drain/locks.h"

#include "core/session/shm.h"

#include <string.h>

// As in src/sonde/recording/schema.py.
#define TIME_LIMIT ((int64_t)1 << 60)

static bool fits(int64_t time) { return time > -TIME_LIMIT && time < TIME_LIMIT; }

// The context of the record's stack; -1 if some frame is not known. Until it is complete nothing
// counts: what was written beyond `keep` is written again.
static int32_t context_of(const sonde_known *known, sonde_line *line, const sonde_rec_lock *event,
                          const uint8_t *frames)
{
    uint32_t keep = event->keep, count = event->count;
    bool aside = event->rec.flags & SONDE_ASIDE;
    int32_t context = keep ? line->stack[keep - 1] : -1;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word; // innermost first
        memcpy(&word, frames + 8 * (size_t)(count - 1 - i), sizeof word);
        const sonde_map_entry *found = sonde_map_find(&known->frames, (uint32_t)context, word);
        if (!found)
            return -1;
        context = found->row;
        if (!aside)
            line->stack[keep + i] = context;
    }
    line->depth = aside ? keep : keep + count;
    if (!aside && (count || !keep))
        line->known = keep + count;
    if (keep < line->unchanged)
        line->unchanged = keep;
    return context;
}

static bool stack_is_common(const sonde_line *line, const sonde_rec_lock *event, uint64_t frames)
{
    return !(event->rec.flags & SONDE_UNDECODABLE) && event->keep <= line->known &&
           event->count <= frames && (uint64_t)event->keep + event->count <= line->room &&
           (event->keep || (event->count && !(event->rec.flags & SONDE_TRUNCATED)));
}

// Is what the recorder keeps in mind of waits and holders as it would be?
static bool wait_is_common(const sonde_known *known, const sonde_line *line,
                           const sonde_rec_lock *event)
{
    const sonde_open_wait *wait = &line->wait;
    switch (event->rec.state) {
    case SONDE_LOCK_ENTER:
        return wait->open == SONDE_WAIT_NONE;
    case SONDE_LOCK_ENTERED:
    case SONDE_LOCK_GAVE_UP:
        return wait->open == SONDE_WAIT_HERE && wait->lock == event->lock &&
               wait->kind == event->kind && event->time - wait->time < known->notable_ns;
    case SONDE_LOCK_WAITED:
        return event->time - event->started < known->notable_ns &&
               fits((int64_t)(event->started - known->origin)) &&
               event->started_sequence <= INT64_MAX;
    case SONDE_LOCK_EXIT:
        return true;
    default:
        return false;
    }
}

static bool take(sonde_known *known, sonde_line *line, const sonde_rec_lock *event,
                 const uint8_t *frames, uint64_t count)
{
    uint8_t type = event->rec.state;
    int64_t time = (int64_t)(event->time - known->origin);
    if (event->holder & SONDE_VIRTUAL || line->thread < 0 || !fits(time) ||
        event->sequence > INT64_MAX || !wait_is_common(known, line, event))
        return false;
    if (event->span && (event->span != line->span || line->spans != known->spans))
        return false;
    if (sonde_lock_has_stack(type) &&
        (event->interpreter != line->interpreter || !stack_is_common(line, event, count)))
        return false;
    const sonde_map_entry *lock = sonde_map_find(&known->locks, event->lock, event->kind);
    if (!lock || lock->flags & SONDE_LOCK_HAS_HOLDER ||
        (type == SONDE_LOCK_ENTER && event->started && !(lock->flags & SONDE_LOCK_HAS_TYPE)))
        return false;
    if (!sonde_rows_reserve(known->rows, 2))
        return false;
    int32_t context = sonde_lock_has_stack(type) ? context_of(known, line, event, frames) : -1;
    if (sonde_lock_has_stack(type) && context < 0)
        return false;

    sonde_row row = {{
        [SONDE_ROW_THREAD] = line->thread,
        [SONDE_ROW_TIME] = time,
        [SONDE_ROW_LOCK] = lock->row,
        [SONDE_ROW_SEQUENCE] = (int64_t)event->sequence,
        [SONDE_ROW_TYPE] = type,
        [SONDE_ROW_CONTEXT] = context,
        [SONDE_ROW_SPAN] = event->span ? line->span_row : -1,
    }};
    if (type == SONDE_LOCK_WAITED) { // both ends of it
        sonde_row began = row;
        began.column[SONDE_ROW_TIME] = (int64_t)(event->started - known->origin);
        began.column[SONDE_ROW_SEQUENCE] = (int64_t)event->started_sequence;
        began.column[SONDE_ROW_TYPE] = SONDE_LOCK_ENTER;
        sonde_rows_add(known->rows, &began);
        row.column[SONDE_ROW_TYPE] = SONDE_LOCK_ENTERED;
        row.column[SONDE_ROW_CONTEXT] = -1;
    }
    sonde_rows_add(known->rows, &row);
    if (type == SONDE_LOCK_ENTER)
        line->wait = (sonde_open_wait){event->time, event->lock, event->sequence, event->started,
                                       context,     event->span, event->kind,     1};
    else if (!sonde_lock_has_stack(type))
        line->wait.open = SONDE_WAIT_NONE;
    return true;
}

uint64_t sonde_drain_locks(sonde_known *known, sonde_line *line, const uint8_t *ring,
                           uint64_t ring_size, uint64_t tail, uint64_t head)
{
    while (tail < head) {
        uint64_t at = tail & (ring_size - 1);
        // What is wrong here is for the recorder to say.
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
            if (!take(known, line, &event, ring + at + sizeof event, (size - sizeof event) / 8))
                break;
        } else if (event.rec.kind != SONDE_REC_PAD) {
            break;
        }
        tail += size;
    }
    return tail;
}
