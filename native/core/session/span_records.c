#include "core/session/span_records.h"

#include "core/base/clock.h"
#include "core/session/records.h"

#include <string.h>

bool sonde_note_has_room(const sonde_thread *thread)
{
    const sonde_ring *ring = &thread->ring;
    uint64_t tail = atomic_load_explicit(&ring->slot->tail, memory_order_relaxed);
    return ring->head - tail < ring->size / 4 * 3;
}

bool sonde_write_note(sonde_thread *thread, uint8_t type, const sonde_rec_note *note,
                      const char *text, size_t length)
{
    if (type == SONDE_NOTE_BEGIN)
        sonde_write_task(thread);
    size_t size = sonde_round8(sizeof *note + length);
    sonde_rec_note *out = sonde_ring_reserve(&thread->ring, size);
    if (!out) {
        atomic_fetch_add(&sonde.header->notes_lost, 1);
        return false;
    }
    *out = (sonde_rec_note){
        .rec = {(uint32_t)size, SONDE_REC_NOTE, type, 0},
        .time = sonde_now(),
        .span = note->span,
        .parent = note->parent,
        .interpreter = note->interpreter,
        .text_len = (uint32_t)length,
    };
    memcpy(out->text, text, length);
    sonde_ring_commit(&thread->ring, size);
    return true;
}
