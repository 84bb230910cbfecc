#define _GNU_SOURCE
#include "core/protocol/program_spans.h"

#include "core/hooks/spans.h"
#include "core/protocol/join_session.h"
#include "core/session/span_records.h"

#include <errno.h>

static sonde_find_place *_Atomic find_place;

void sonde_program_find_by(sonde_find_place *find) { atomic_store(&find_place, find); }

static bool find(sonde_thread *me, sonde_span_place *place)
{
    sonde_find_place *by_runtime = atomic_load(&find_place);
    return by_runtime(me, place);
}

static size_t cut(size_t length) { return length < SONDE_MAX_NOTE ? length : SONDE_MAX_NOTE; }

static uint32_t begin(sonde_thread *me, const char *name, size_t length, uint32_t within)
{
    sonde_span_place place = {0};
    if (!find(me, &place))
        return 0;
    uint32_t number = sonde_span_number();
    if (!sonde_note_has_room(me) || !sonde_span_open(place.frame, place.code, number)) {
        atomic_fetch_add(&sonde.header->notes_lost, 1);
        return 0;
    }
    sonde_rec_note note = {
        .span = number, .parent = within ? within : place.around, .interpreter = place.interpreter};
    if (sonde_write_note(me, SONDE_NOTE_BEGIN, &note, name, cut(length)))
        return number;
    sonde_span_close_exactly(place.frame, number);
    return 0;
}

uint32_t sonde_program_begin(const char *name, size_t length, uint32_t within)
{
    int saved = errno;
    uint32_t number = 0;
    sonde_thread *me = sonde_enter();
    if (me) {
        number = begin(me, name, length, within);
        sonde_leave(me);
    }
    errno = saved;
    return number;
}

void sonde_program_end(uint32_t number)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_span_place place = {0};
        find(me, &place);
        if (sonde_span_close_exactly(place.frame, number))
            sonde_write_note(me, SONDE_NOTE_END, &(sonde_rec_note){.span = number}, "", 0);
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_program_attribute(uint32_t number, const char *text, size_t length)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (me) {
        if (!sonde_note_has_room(me))
            atomic_fetch_add(&sonde.header->notes_lost, 1);
        else
            sonde_write_note(me, SONDE_NOTE_ATTRIBUTE, &(sonde_rec_note){.span = number}, text,
                             cut(length));
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_program_mark(const char *text, size_t length)
{
    int saved = errno;
    sonde_thread *me = sonde_enter();
    if (me) {
        sonde_span_place place = {0};
        find(me, &place);
        sonde_write_note(me, SONDE_NOTE_MARK, &(sonde_rec_note){.interpreter = place.interpreter},
                         text, cut(length));
        sonde_leave(me);
    }
    errno = saved;
}

void sonde_program_control(int pause)
{
    int saved = errno;
    if (sonde_agent_active())
        sonde_agent_notify(pause ? SONDE_PAUSE : SONDE_RESUME);
    errno = saved;
}
