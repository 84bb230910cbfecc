#define _GNU_SOURCE
#include "core/hooks/spans.h"

#include "core/base/hash.h"
#include "core/base/hot.h"
#include "core/base/zero.h"

#include <sched.h>
#include <stddef.h>

#define PLACES (1u << SONDE_SPANS_BITS)
// How far from its own place an entry may lie; a look that finds nothing goes no further.
#define REACH 32u
#define GONE 1u // a place that had an entry: those behind it may still be there

typedef struct {
    _Atomic uintptr_t frame; // 0: never used
    _Atomic uintptr_t code;
    _Atomic uint32_t id;
} place_t;

static place_t places[PLACES];
static _Atomic uint32_t last;
// Only between those who open and close, who are no handlers: an interpreter with a GIL of its own
// may do so at the same time.
static atomic_flag changing = ATOMIC_FLAG_INIT;

_Atomic uint32_t sonde_spans_open;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&changing, memory_order_acquire))
        sched_yield();
}

static void unlock(void) { atomic_flag_clear_explicit(&changing, memory_order_release); }

static place_t *place_of(const void *frame, uint32_t step)
{
    uint32_t place = sonde_hash_place((uint64_t)(uintptr_t)frame, SONDE_SPANS_BITS);
    return &places[(place + step) & (PLACES - 1)];
}

uint32_t sonde_span_number(void)
{
    uint32_t id;
    do
        id = atomic_fetch_add(&last, 1) + 1;
    while (!id);
    return id;
}

bool sonde_span_open(const void *frame, const void *code, uint32_t id)
{
    bool done = false;
    lock();
    for (uint32_t i = 0; i < REACH && !done; i++) {
        place_t *p = place_of(frame, i);
        if (atomic_load_explicit(&p->frame, memory_order_relaxed) > GONE)
            continue;
        atomic_store_explicit(&p->id, id, memory_order_relaxed);
        atomic_store_explicit(&p->code, (uintptr_t)code, memory_order_relaxed);
        atomic_store_explicit(&p->frame, (uintptr_t)frame, memory_order_release);
        atomic_fetch_add(&sonde_spans_open, 1);
        done = true;
    }
    unlock();
    return done;
}

static uint32_t take_out(place_t *p)
{
    uint32_t id = atomic_load_explicit(&p->id, memory_order_relaxed);
    // Nothing lies behind an unused place, so places before one need not be kept as used.
    place_t *next = &places[((size_t)(p - places) + 1) & (PLACES - 1)];
    uintptr_t left = atomic_load_explicit(&next->frame, memory_order_relaxed) ? GONE : 0;
    atomic_store_explicit(&p->frame, left, memory_order_release);
    while (!left) {
        p = &places[((size_t)(p - places) + PLACES - 1) & (PLACES - 1)];
        if (atomic_load_explicit(&p->frame, memory_order_relaxed) != GONE)
            break;
        atomic_store_explicit(&p->frame, 0, memory_order_release);
    }
    atomic_fetch_sub(&sonde_spans_open, 1);
    return id;
}

static place_t *find(const void *frame, uint32_t id, bool exactly)
{
    place_t *innermost = NULL;
    for (uint32_t i = 0; i < REACH; i++) {
        place_t *p = place_of(frame, i);
        uintptr_t has = atomic_load_explicit(&p->frame, memory_order_relaxed);
        if (!has)
            break;
        if (has != (uintptr_t)frame)
            continue;
        if (p->id == id)
            return p;
        if (!innermost || p->id > innermost->id)
            innermost = p;
    }
    // The number may be another thread's, where several use one object: one's own frame comes
    // first.
    if (innermost && !exactly)
        return innermost;
    // Left elsewhere than it was entered: by another function, or in another thread.
    for (uint32_t i = 0; i < PLACES; i++)
        if (places[i].id == id && places[i].frame > GONE)
            return &places[i];
    return NULL;
}

static uint32_t close_found(const void *frame, uint32_t id, bool exactly)
{
    lock();
    place_t *p = find(frame, id, exactly);
    uint32_t closed = p ? take_out(p) : 0;
    unlock();
    return closed;
}

uint32_t sonde_span_close(const void *frame, uint32_t id) { return close_found(frame, id, false); }

uint32_t sonde_span_close_exactly(const void *frame, uint32_t id)
{
    return close_found(frame, id, true);
}

SONDE_HOT uint32_t sonde_span_in(const void *frame, const void *code)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < REACH; i++) {
        place_t *p = place_of(frame, i);
        uintptr_t has = atomic_load_explicit(&p->frame, memory_order_acquire);
        if (!has)
            break;
        // A span that was never left must not claim another function whose frame lies there now.
        if (has != (uintptr_t)frame ||
            atomic_load_explicit(&p->code, memory_order_relaxed) != (uintptr_t)code)
            continue;
        uint32_t id = atomic_load_explicit(&p->id, memory_order_relaxed);
        if (id > found)
            found = id;
    }
    return found;
}

void sonde_spans_forget(void)
{
    atomic_flag_clear(&changing); // in a forked child no other thread is there to release it
    lock();
    sonde_zero((void *)places, sizeof places);
    atomic_store(&sonde_spans_open, 0);
    unlock();
}
