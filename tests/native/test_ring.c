// The ring between one producer and one consumer, checked by what comes out of it.
#include "check.h"
#include "core/session/ring.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define SIZE 4096u

// Exactly as large as it says, so that AddressSanitizer sees a byte too many.
static sonde_ring make(uint32_t size)
{
    sonde_ring ring = {.slot = calloc(1, sizeof(sonde_slot)), .data = malloc(size), .size = size};
    CHECK(ring.slot && ring.data);
    return ring;
}

static void drop(sonde_ring *ring)
{
    free(ring->slot);
    free(ring->data);
}

static uint8_t pattern(uint64_t number, size_t at) { return (uint8_t)(number * 31 + at * 7); }

// ---- a consumer written from the description in shm.h alone

// The next record that is no pad, NULL if there is none.
static const sonde_rec *next(sonde_ring *ring)
{
    for (;;) {
        uint64_t tail = atomic_load(&ring->slot->tail), head = atomic_load(&ring->slot->head);
        if (tail == head)
            return NULL;
        CHECK(head - tail <= ring->size);
        uint64_t at = tail & (ring->size - 1);
        const sonde_rec *rec = (const sonde_rec *)(ring->data + at);
        CHECK(rec->size >= sizeof *rec && rec->size % 8 == 0);
        CHECK(at + rec->size <= ring->size);
        CHECK(rec->size <= head - tail);
        if (rec->kind != SONDE_REC_PAD)
            return rec;
        CHECK_EQUAL(at + rec->size, ring->size);
        atomic_store(&ring->slot->tail, tail + rec->size);
    }
}

static void consume(sonde_ring *ring, const sonde_rec *rec)
{
    atomic_store(&ring->slot->tail, atomic_load(&ring->slot->tail) + rec->size);
}

// ---- records of a number and a pattern that depends on it

typedef struct {
    sonde_rec rec;
    uint64_t number;
    uint8_t bytes[];
} numbered;

static size_t length_of(uint64_t number)
{
    uint64_t state = number + 1;
    uint64_t drawn = draw(&state);
    return drawn % 16 == 0 ? drawn / 16 % 1500 : drawn / 16 % 100;
}

static bool produce(sonde_ring *ring, uint64_t number)
{
    size_t length = length_of(number), size = sizeof(numbered) + length;
    numbered *out = sonde_ring_reserve(ring, size);
    if (!out)
        return false;
    CHECK((uintptr_t)out % 8 == 0);
    out->rec = (sonde_rec){.size = (uint32_t)sonde_round8(size), .kind = SONDE_REC_SAMPLE};
    out->number = number;
    for (size_t i = 0; i < length; i++)
        out->bytes[i] = pattern(number, i);
    sonde_ring_commit(ring, size);
    return true;
}

static void expect(const sonde_rec *rec, uint64_t number)
{
    const numbered *in = (const numbered *)rec;
    CHECK_EQUAL(in->number, number);
    CHECK_EQUAL(rec->size, sonde_round8(sizeof *in + length_of(number)));
    for (size_t i = 0; i < length_of(number); i++)
        CHECK(in->bytes[i] == pattern(number, i));
}

// ---- tests

static void goes_round_and_round(void)
{
    sonde_ring ring = make(SIZE);
    uint64_t written = 0, read = 0, state = 7;
    while (read < 100000) {
        for (uint64_t n = draw(&state) % 20; n && produce(&ring, written); n--)
            written++;
        for (uint64_t n = draw(&state) % 20; n; n--) {
            const sonde_rec *rec = next(&ring);
            CHECK((rec == NULL) == (read == written));
            if (!rec)
                break;
            expect(rec, read++);
            consume(&ring, rec);
        }
    }
    CHECK(atomic_load(&ring.slot->head) > 100 * (uint64_t)SIZE);
    drop(&ring);
}

static void is_full_to_the_last_byte(void)
{
    sonde_ring ring = make(SIZE);
    for (uint32_t i = 0; i < SIZE / 16; i++) {
        sonde_rec *rec = sonde_ring_reserve(&ring, 16);
        CHECK(rec);
        *rec = (sonde_rec){.size = 16, .kind = SONDE_REC_SAMPLE};
        sonde_ring_commit(&ring, 16);
    }
    CHECK_EQUAL(atomic_load(&ring.slot->head), SIZE);
    CHECK(!sonde_ring_reserve(&ring, 1));
    CHECK_EQUAL(atomic_load(&ring.slot->head), SIZE);
    consume(&ring, next(&ring));
    CHECK(!sonde_ring_reserve(&ring, 17));
    CHECK(sonde_ring_reserve(&ring, 16) == ring.data);
    drop(&ring);
}

static void takes_a_record_of_its_own_size(void)
{
    sonde_ring ring = make(SIZE);
    uint8_t *all = sonde_ring_reserve(&ring, SIZE);
    CHECK(all);
    memset(all, 0xff, SIZE);
    *(sonde_rec *)all = (sonde_rec){.size = SIZE, .kind = SONDE_REC_SAMPLE};
    sonde_ring_commit(&ring, SIZE);
    CHECK(!sonde_ring_reserve(&ring, 8));
    consume(&ring, next(&ring));
    CHECK(sonde_ring_reserve(&ring, SIZE));
    CHECK(!sonde_ring_reserve(&ring, SIZE + 1));
    drop(&ring);
}

static void pads_the_end(void)
{
    sonde_ring ring = make(SIZE);
    sonde_rec *rec = sonde_ring_reserve(&ring, SIZE - 24);
    *rec = (sonde_rec){.size = SIZE - 24, .kind = SONDE_REC_SAMPLE};
    sonde_ring_commit(&ring, SIZE - 24);
    // Neither at the end nor, yet, at the beginning: nothing may change.
    CHECK(!sonde_ring_reserve(&ring, 32));
    CHECK_EQUAL(atomic_load(&ring.slot->head), SIZE - 24);
    consume(&ring, next(&ring));
    rec = sonde_ring_reserve(&ring, 32);
    CHECK((uint8_t *)rec == ring.data);
    const sonde_rec *pad = (const sonde_rec *)(ring.data + SIZE - 24);
    CHECK(pad->kind == SONDE_REC_PAD);
    CHECK_EQUAL(pad->size, 24);
    CHECK_EQUAL(atomic_load(&ring.slot->head), SIZE);
    *rec = (sonde_rec){.size = 32, .kind = SONDE_REC_SAMPLE};
    sonde_ring_commit(&ring, 32);
    CHECK(next(&ring) == rec);
    drop(&ring);
}

static void shows_nothing_before_commit(void)
{
    sonde_ring ring = make(SIZE);
    CHECK(sonde_ring_reserve(&ring, 100));
    CHECK(!next(&ring));
    // Given up and asked again: the same place.
    CHECK(sonde_ring_reserve(&ring, 8) == ring.data);
    CHECK(!next(&ring));
    drop(&ring);
}

static void commits_less_than_was_reserved(void)
{
    sonde_ring ring = make(SIZE);
    sonde_rec *rec = sonde_ring_reserve(&ring, 1000);
    *rec = (sonde_rec){.size = 48, .kind = SONDE_REC_SAMPLE};
    sonde_ring_commit(&ring, 41);
    CHECK_EQUAL(atomic_load(&ring.slot->head), 48);
    CHECK(sonde_ring_reserve(&ring, 8) == ring.data + 48);
    drop(&ring);
}

// The tail lies in memory of another process. Whatever it says, we stay within the ring.
static void survives_any_tail(void)
{
    sonde_ring ring = make(SIZE);
    uint64_t state = 99, given = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t head = atomic_load(&ring.slot->head), tail = draw(&state);
        switch (draw(&state) % 6) {
        case 0:
            break;
        case 1:
            tail = head;
            break;
        case 2:
            tail = head + tail % 100000;
            break;
        case 3:
            tail = head - tail % 100000;
            break;
        case 4:
            tail = head - SIZE - tail % 3;
            break;
        case 5:
            tail = tail % 2 ? 0 : UINT64_MAX;
            break;
        }
        atomic_store(&ring.slot->tail, tail);
        size_t size = 1 + draw(&state) % (SIZE + 100);
        uint8_t *to = sonde_ring_reserve(&ring, size);
        if (size > SIZE || (ring.tail == tail && head - tail > SIZE))
            CHECK(!to); // more used than there is, or less than nothing
        if (!to)
            continue;
        CHECK(to >= ring.data && to + sonde_round8(size) <= ring.data + SIZE);
        memset(to, 0x5a, sonde_round8(size));
        sonde_ring_commit(&ring, size);
        given++;
    }
    CHECK(given > 1000);
    drop(&ring);
}

#define MANY 3000000u

static void *produce_many(void *arg)
{
    sonde_ring *ring = arg;
    for (uint64_t number = 0; number < MANY; number++)
        while (!produce(ring, number))
            sched_yield();
    return NULL;
}

static void passes_millions_between_threads(void)
{
    sonde_ring ring = make(1u << 16);
    pthread_t producer;
    CHECK(pthread_create(&producer, NULL, produce_many, &ring) == 0);
    for (uint64_t number = 0; number < MANY; number++) {
        const sonde_rec *rec;
        while (!(rec = next(&ring)))
            sched_yield();
        expect(rec, number);
        consume(&ring, rec);
    }
    pthread_join(producer, NULL);
    CHECK(!next(&ring));
    drop(&ring);
}

int main(void)
{
    RUN(goes_round_and_round);
    RUN(is_full_to_the_last_byte);
    RUN(takes_a_record_of_its_own_size);
    RUN(pads_the_end);
    RUN(shows_nothing_before_commit);
    RUN(commits_less_than_was_reserved);
    RUN(survives_any_tail);
    RUN(passes_millions_between_threads);
    return 0;
}
