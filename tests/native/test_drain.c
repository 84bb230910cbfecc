// Runs of lock events: what is not all known is left where it is, whatever it looks like.
#include "check.h"
#include "core/session/shm.h"
#include "drain/locks.h"

#include <string.h>

#define SIZE 4096u
#define ORIGIN 1000000u
#define LOCK 0x7f0000001000u
#define WORD(n) ((uint64_t)(n) << SONDE_INSTR_BITS | 1)

typedef struct {
    sonde_process_tables known;
    sonde_rows rows;
    sonde_thread_state line;
    uint8_t *ring; // exactly as large as it says
    uint64_t tail, head;
} bench;

static bench make(uint32_t room)
{
    bench b = {.known = {.origin = ORIGIN, .notable_ns = UINT64_MAX},
               .line = {.room = room, .thread = 3},
               .ring = malloc(SIZE)};
    b.line.stack = calloc(room, sizeof *b.line.stack);
    CHECK(b.ring && b.line.stack);
    return b;
}

static void drop(bench *b)
{
    sonde_map_clear(&b->known.frames);
    sonde_map_clear(&b->known.locks);
    free(b->rows.rows);
    free(b->line.stack);
    free(b->ring);
}

static void write_event(bench *b, sonde_rec_lock event, const uint64_t *frames)
{
    uint32_t size = (uint32_t)(sizeof event + event.count * sizeof *frames);
    uint64_t at = b->head & (SIZE - 1);
    if (SIZE - at < size) {
        sonde_rec pad = {.size = (uint32_t)(SIZE - at), .kind = SONDE_REC_PAD};
        memcpy(b->ring + at, &pad, sizeof pad);
        b->head += SIZE - at;
        at = 0;
    }
    event.rec.size = size;
    event.rec.kind = SONDE_REC_LOCK;
    memcpy(b->ring + at, &event, sizeof event);
    if (event.count)
        memcpy(b->ring + at + sizeof event, frames, event.count * sizeof *frames);
    b->head += size;
}

static bool run(bench *b)
{
    b->known.rows = &b->rows;
    b->tail = sonde_drain_locks(&b->known, &b->line, b->ring, SIZE, b->tail, b->head);
    return b->tail == b->head;
}

static sonde_rec_lock event_of(uint8_t type, uint64_t time, uint32_t count)
{
    return (sonde_rec_lock){.rec = {.state = type},
                            .time = time,
                            .lock = LOCK,
                            .sequence = time,
                            .count = count,
                            .kind = SONDE_KIND_SEMAPHORE};
}

static void know(bench *b)
{
    sonde_map_set(&b->known.frames, UINT32_MAX, WORD(1), 10, 0);
    sonde_map_set(&b->known.frames, 10, WORD(2), 11, 0);
    sonde_map_set(&b->known.locks, LOCK, SONDE_KIND_SEMAPHORE, 5, 0);
}

static void test_what_is_known_is_taken(void)
{
    bench b = make(8);
    know(&b);
    const uint64_t frames[] = {WORD(2), WORD(1)}; // innermost first
    for (uint64_t i = 0; i < 200; i++) {          // many times around the ring
        write_event(&b, event_of(SONDE_LOCK_WAIT_BEGIN, ORIGIN + 3 * i, 2), frames);
        write_event(&b, event_of(SONDE_LOCK_ACQUIRED, ORIGIN + 3 * i + 1, 0), NULL);
        sonde_rec_lock waited = event_of(SONDE_LOCK_WAITED, ORIGIN + 3 * i + 2, 0);
        waited.keep = 1;
        waited.started = ORIGIN + 3 * i + 1;
        write_event(&b, waited, NULL);
        CHECK(run(&b));
        CHECK(!b.line.wait.open);
    }
    CHECK_EQUAL(b.rows.count, 800);
    const int64_t *enter = b.rows.rows[796].column, *began = b.rows.rows[798].column;
    CHECK_EQUAL(enter[SONDE_ROW_CONTEXT], 11);
    CHECK_EQUAL(enter[SONDE_ROW_TIME], 3 * 199);
    CHECK_EQUAL(enter[SONDE_ROW_THREAD], 3);
    CHECK_EQUAL(enter[SONDE_ROW_LOCK], 5);
    CHECK_EQUAL(began[SONDE_ROW_TYPE], SONDE_LOCK_WAIT_BEGIN);
    CHECK_EQUAL(began[SONDE_ROW_CONTEXT], 10);
    CHECK_EQUAL(b.line.depth, 1);
    CHECK_EQUAL(b.line.unchanged, 0);
    drop(&b);
}

// What is detached is for its record alone; what a shallow stack leaves of a deep one stays.
static void test_detached_frames_replace_no_others(void)
{
    bench b = make(8);
    know(&b);
    const uint64_t frames[] = {WORD(2), WORD(1)};
    write_event(&b, event_of(SONDE_LOCK_RELEASED, ORIGIN, 2), frames);
    sonde_rec_lock event = event_of(SONDE_LOCK_RELEASED, ORIGIN + 1, 1);
    event.keep = 1;
    event.rec.flags = SONDE_DETACHED;
    write_event(&b, event, frames);
    event = event_of(SONDE_LOCK_RELEASED, ORIGIN + 2, 0);
    event.keep = 1;
    write_event(&b, event, NULL);
    CHECK(run(&b));
    CHECK_EQUAL(b.line.known, 2);
    CHECK_EQUAL(b.line.depth, 1);
    event.keep = 2;
    write_event(&b, event, NULL);
    CHECK(run(&b));
    const int64_t contexts[] = {11, 11, 10, 11};
    for (size_t i = 0; i < 4; i++)
        CHECK_EQUAL(b.rows.rows[i].column[SONDE_ROW_CONTEXT], contexts[i]);
    CHECK_EQUAL(b.line.stack[1], 11);
    drop(&b);
}

// Each of these is left, and nothing has changed.
static void refused(sonde_rec_lock event, const uint64_t *frames, void (*spoil)(bench *))
{
    bench b = make(4);
    know(&b);
    b.line.depth = b.line.known = 1;
    b.line.stack[0] = 10;
    if (spoil)
        spoil(&b);
    sonde_thread_state before = b.line;
    write_event(&b, event, frames);
    CHECK(!run(&b));
    CHECK_EQUAL(b.tail, 0);
    CHECK_EQUAL(b.rows.count, 0);
    CHECK(memcmp(&before, &b.line, sizeof before) == 0);
    CHECK_EQUAL(b.line.stack[0], 10);
    drop(&b);
}

static void without_thread(bench *b) { b->line.thread = -1; }
static void held(bench *b)
{
    sonde_map_set(&b->known.locks, LOCK, SONDE_KIND_SEMAPHORE, 5, SONDE_LOCK_HAS_HOLDER);
}
static void waits(bench *b)
{
    b->line.wait = (sonde_open_wait){.open = SONDE_WAIT_HERE, .lock = LOCK + 1};
}
static void waits_elsewhere(bench *b)
{
    b->line.wait =
        (sonde_open_wait){.open = SONDE_WAIT_KEPT, .lock = LOCK, .kind = SONDE_KIND_SEMAPHORE};
}
static void notices_all(bench *b) { b->known.notable_ns = 0; }

static void test_what_is_not_known_is_left(void)
{
    const uint64_t frames[] = {WORD(7), WORD(2), WORD(2), WORD(2), WORD(2)};
    sonde_rec_lock event = event_of(SONDE_LOCK_RELEASED, ORIGIN, 0);
    refused(event, NULL, NULL); // no frames at all
    event.keep = 1;
    refused(event, NULL, without_thread);
    refused(event, NULL, held);
    event.count = 1;
    refused(event, frames, NULL); // a frame that nobody described
    event.count = 5;
    refused(event, frames, NULL); // a stack for which there is no room yet
    event.count = 0;
    event.keep = 2;
    refused(event, NULL, NULL); // it continues a stack that never was
    event.keep = 1;
    sonde_rec_lock other = event;
    other.lock++;
    refused(other, NULL, NULL);
    other = event;
    other.interpreter = 1;
    refused(other, NULL, NULL);
    other = event;
    other.span = 1;
    refused(other, NULL, NULL);
    other = event;
    other.holder = SONDE_VIRTUAL | 1;
    refused(other, NULL, NULL);
    other = event;
    other.sequence = UINT64_MAX;
    refused(other, NULL, NULL);
    other = event;
    other.time = (uint64_t)1 << 62;
    refused(other, NULL, NULL);
    other = event;
    other.rec.flags = SONDE_UNDECODABLE;
    refused(other, NULL, NULL);
    other = event;
    other.rec.state = SONDE_LOCK_WAIT_BEGIN;
    other.started = 9; // of a type of which that is not known yet
    refused(other, NULL, NULL);
    other.started = 0;
    refused(other, NULL, waits);
    other.rec.state = SONDE_LOCK_ACQUIRED;
    refused(other, NULL, NULL); // of a wait whose beginning was not here
    refused(other, NULL, waits);
    refused(other, NULL, waits_elsewhere);
    other.rec.state = SONDE_LOCK_WAITED;
    refused(other, NULL, notices_all);
    other.rec.state = SONDE_LOCK_OWNER_OBSERVED;
    refused(other, NULL, NULL);
}

static void test_garbage_is_left(void)
{
    uint64_t state = 1;
    for (int round = 0; round < 20000; round++) {
        bench b = make(16);
        know(&b);
        for (uint32_t i = 0; i < SIZE; i += 8) {
            uint64_t word = draw(&state);
            memcpy(b.ring + i, &word, sizeof word);
        }
        // Heads that may be taken for some, at places of which any may be the next one.
        for (uint32_t i = 0; i + 8 <= SIZE; i += 8 * (1 + draw(&state) % 16)) {
            sonde_rec rec = {.size = (uint32_t)(draw(&state) % 64 * 8),
                             .kind = draw(&state) % 4 ? SONDE_REC_LOCK : SONDE_REC_PAD,
                             .state = (uint8_t)(draw(&state) % 8),
                             .flags = draw(&state) % 8 ? 0 : SONDE_DETACHED};
            memcpy(b.ring + i, &rec, sizeof rec);
        }
        b.line.depth = b.line.known = (uint32_t)(draw(&state) % 17);
        b.tail = draw(&state) % SIZE & ~(uint64_t)7;
        b.head = b.tail + (draw(&state) % SIZE & ~(uint64_t)7);
        run(&b);
        CHECK(b.tail <= b.head);
        drop(&b);
    }
}

static void test_a_map_grows(void)
{
    sonde_map map = {0};
    CHECK(!sonde_map_find(&map, 1, 1));
    for (uint64_t i = 0; i < 5000; i++)
        CHECK(sonde_map_set(&map, i % 7, i, (int32_t)i, 0));
    for (uint64_t i = 0; i < 5000; i++)
        CHECK_EQUAL(sonde_map_find(&map, i % 7, i)->row, i);
    CHECK(!sonde_map_find(&map, 8, 1));
    CHECK(sonde_map_set(&map, 1, 1, 77, SONDE_LOCK_HAS_TYPE));
    CHECK_EQUAL(sonde_map_find(&map, 1, 1)->row, 77);
    CHECK_EQUAL(map.count, 5000);
    sonde_map_clear(&map);
    CHECK(!sonde_map_find(&map, 1, 1));
}

int main(void)
{
    RUN(test_what_is_known_is_taken);
    RUN(test_detached_frames_replace_no_others);
    RUN(test_what_is_not_known_is_left);
    RUN(test_garbage_is_left);
    RUN(test_a_map_grows);
    return 0;
}
