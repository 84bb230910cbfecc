#define _GNU_SOURCE
#include "cpython/session/c_spans.h"

#include "core/hooks/spans.h"
#include "core/protocol/program_api.h"
#include "cpython/frames/frames.h"
#include "cpython/walk/walk.h"

frame_t *sonde_cpython_caller(frame_t *f)
{
    do
        f = f->previous;
    while (f && frame_is_shim(f));
    return f;
}

uint32_t sonde_cpython_span_around(frame_t *f)
{
    uint32_t found = 0;
    if (atomic_load_explicit(&sonde_spans_open, memory_order_relaxed))
        for (; f && !found; f = sonde_cpython_caller(f))
            found = sonde_span_in(f, frame_code(f));
    return found;
}

// C code's spans belong to the Python function that has called it, else to the thread.
static bool find_c_place(sonde_thread *me, sonde_span_place *place)
{
    PyThreadState *state = sonde_cpython_own_state(NULL);
    frame_t *f = state ? sonde_cpython_top(state) : NULL;
    while (f && frame_is_shim(f))
        f = f->previous;
    if (state)
        place->interpreter = (uint32_t)state->interp->id;
    place->frame = f ? (const void *)f : sonde_span_thread(me->slot->tid);
    place->code = f ? frame_code(f) : NULL;
    place->around = f ? sonde_cpython_span_around(f) : sonde_span_of(place->frame, NULL);
    return true;
}

void sonde_c_spans_offer(void) { sonde_program_offer(find_c_place); }
