// Stacks are written as what changed: what a consumer decodes must be what was written, stack by
// stack, also after some were lost.
#define _GNU_SOURCE
#include "check.h"
#include "core/session/records.h"
#include "core/session/stack_delta.h"
#include "recorder_side.h"

#include <string.h>

typedef struct {
    uint64_t frames[SONDE_MAX_DEPTH]; // innermost first, as walked
    uint32_t depth;
} stack;

// Calls and returns as programs make them, now and then a jump to somewhere else altogether.
static void wander(stack *s, uint64_t *state)
{
    uint64_t what = draw(state) % 100;
    uint32_t most = SONDE_MAX_DEPTH;
    if (what == 0)
        s->depth = (uint32_t)(draw(state) % (most + 1));
    else if (what == 1)
        s->depth = 0;
    else if (what == 2)
        s->depth = most;
    uint32_t pops = what < 60 ? (uint32_t)(draw(state) % 4) : 0;
    uint32_t pushes = (uint32_t)(draw(state) % 4);
    pops = pops < s->depth ? pops : s->depth;
    pushes = s->depth - pops + pushes <= most ? pushes : 0;
    uint32_t kept = s->depth - pops;
    memmove(s->frames + pushes, s->frames + pops, kept * sizeof *s->frames);
    for (uint32_t i = 0; i < pushes; i++)
        s->frames[i] = draw(state) % 50;
    s->depth = kept + pushes;
    if (what == 3 && s->depth < 400) { // deeper, by the way it always goes
        memmove(s->frames + 100, s->frames, s->depth * sizeof *s->frames);
        for (uint32_t i = 0; i < 100; i++)
            s->frames[i] = 1;
        s->depth += 100;
    } else if (what == 4) { // back out of it
        uint32_t out = s->depth < 100 ? s->depth : 100;
        memmove(s->frames, s->frames + out, (s->depth - out) * sizeof *s->frames);
        s->depth -= out;
    }
    if (what < 3) // new ones all the way down
        for (uint32_t i = 0; i < s->depth; i++)
            s->frames[i] = draw(state) % 3;
}

static void expect(const decoded *got, const stack *wanted)
{
    CHECK_EQUAL(got->depth, wanted->depth);
    for (uint32_t i = 0; i < wanted->depth; i++)
        CHECK(got->frames[wanted->depth - 1 - i] == wanted->frames[i]);
}

static sonde_event event_of(uint64_t number)
{
    return (sonde_event){.time = number,
                         .cpu = number * 3,
                         .interpreter = (uint32_t)(number % 5),
                         .tid = number % 7 == 0 ? 1234 : 0,
                         .processor = (uint32_t)(number % 3),
                         .thread_object = number * 11,
                         .state = (uint8_t)(number % 3),
                         .flags = number % 13 == 0 ? SONDE_TRUNCATED : 0};
}

static void expect_event(const sonde_rec_sample *got, const sonde_event *wanted)
{
    CHECK_EQUAL(got->rec.kind, wanted->tid ? SONDE_REC_OPEN_WAIT : SONDE_REC_SAMPLE);
    CHECK_EQUAL(got->rec.state, wanted->state);
    CHECK_EQUAL(got->rec.flags & ~SONDE_DETACHED, wanted->flags);
    CHECK_EQUAL(got->time, wanted->time);
    CHECK_EQUAL(got->cpu, wanted->cpu);
    CHECK_EQUAL(got->interpreter, wanted->interpreter);
    CHECK_EQUAL(got->tid, wanted->tid ? wanted->tid : wanted->processor);
    CHECK_EQUAL(got->thread_object, wanted->thread_object);
}

// The consumer takes its records at random moments, so the ring is full every so often: stacks are
// lost then, and those after them must come out right all the same.
static void writes_stacks_that_decode(void)
{
    enum { ROUNDS = 60000, WAITING = 64 };
    memory m = begin_session(4, 1u << 16);
    sonde_thread *thread = sonde_enter();
    CHECK(thread);
    uint32_t index = index_of(thread);
    static stack now, expected[WAITING];
    static sonde_event events[WAITING];
    static decoded out;
    uint64_t state = 4711, lost = 0, taken = 0, truncated = 0, read = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        wander(&now, &state);
        sonde_event event = event_of(round);
        memcpy(sonde_stack(thread), now.frames, now.depth * sizeof *now.frames);
        uint64_t before = atomic_load(&thread->slot->head);
        sonde_write_stack(thread, now.depth, &event);
        if (thread->slot->lost > lost) {
            lost++;
            CHECK_EQUAL(thread->slot->lost, lost);
            // At most a pad came of it.
            CHECK(atomic_load(&thread->slot->head) - before < m.config.ring_size);
        } else {
            expected[taken % WAITING] = now;
            events[taken++ % WAITING] = event;
            truncated += event.flags == SONDE_TRUNCATED;
        }
        bool must = taken - read == WAITING;
        for (uint64_t n = must                     ? WAITING
                          : draw(&state) % 40 == 0 ? draw(&state) % WAITING
                                                   : 0;
             n; n--) {
            const sonde_rec_sample *sample = take(&m, index, &out);
            CHECK((sample == NULL) == (read == taken));
            if (!sample)
                break;
            expect(&out, &expected[read % WAITING]);
            expect_event(sample, &events[read++ % WAITING]);
            done(&m, index, sample);
        }
    }
    CHECK_EQUAL(thread->slot->taken, taken);
    CHECK_EQUAL(thread->slot->truncated, truncated);
    CHECK(lost > 100 && taken > ROUNDS / 2);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

static void writes_only_what_changed(void)
{
    memory m = begin_session(4, 1u << 16);
    sonde_thread *thread = sonde_enter();
    uint32_t index = index_of(thread);
    static decoded out;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint64_t f = 0; f < 1000; f++)
            sonde_stack(thread)[f] = f ? f : 5000 + i; // the innermost one moves
        sonde_event event = {.time = i};
        sonde_write_stack(thread, 1000, &event);
        const sonde_rec_sample *sample = take(&m, index, &out);
        CHECK_EQUAL(sample->keep, i ? 999 : 0);
        CHECK_EQUAL(sample->count, i ? 1 : 1000);
        done(&m, index, sample);
    }
    // One that cannot be decoded has no frames, and nothing is kept of it.
    sonde_event broken = {.flags = SONDE_UNDECODABLE};
    sonde_write_stack(thread, 0, &broken);
    const sonde_rec_sample *sample = take(&m, index, &out);
    CHECK(sample->keep == 0 && sample->count == 0);
    CHECK_EQUAL(thread->slot->undecodable, 1);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

enum { DEEP = 900 };

static uint64_t size_of(const memory *m, sonde_thread *thread, const stack *s, uint8_t flags,
                        decoded *out)
{
    memcpy(sonde_stack(thread), s->frames, s->depth * sizeof *s->frames);
    sonde_write_stack(thread, s->depth, &(sonde_event){.flags = flags});
    const sonde_rec_sample *sample = take(m, index_of(thread), out);
    CHECK(sample);
    expect(out, s);
    uint64_t size = sample->rec.size;
    done(m, index_of(thread), sample);
    return size;
}

// A recursion that is seen at any of its depths, in its own code and in what it calls.
static void recursions_cost_little(void)
{
    enum { SAMPLES = 1000 };
    memory m = begin_session(4, 1u << 16);
    sonde_thread *thread = sonde_enter();
    static decoded out;
    static stack s;
    uint64_t state = 1, bytes = 0;
    for (int i = 0; i < SAMPLES; i++) {
        s.depth = draw(&state) % 3 ? DEEP : (uint32_t)(draw(&state) % DEEP) + 2;
        for (uint32_t k = 0; k < s.depth; k++)
            s.frames[k] = 5;
        bool calls = draw(&state) % 2;
        if (calls)
            s.frames[0] = 9;
        s.frames[calls] = 6 + draw(&state) % 3; // it is at another instruction than its callers
        bytes += size_of(&m, thread, &s, 0, &out);
    }
    CHECK(bytes < SAMPLES * (sizeof(sonde_rec_sample) + 40));
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

// What is never seen again is not kept for ever, and nothing is detached where the next record has
// to continue this one.
static void what_does_not_come_back_is_forgotten(void)
{
    memory m = begin_session(4, 1u << 16);
    sonde_thread *thread = sonde_enter();
    static decoded out;
    static stack s;
    for (int activations = 0; activations < 2; activations++) {
        uint8_t flags = activations ? SONDE_ACTIVATIONS : 0;
        s.depth = DEEP;
        for (uint32_t k = 0; k < DEEP; k++)
            s.frames[k] = 5;
        size_of(&m, thread, &s, flags, &out);
        CHECK_EQUAL(out.known, DEEP);
        s.depth = 100;
        s.frames[0] = 6;
        for (int i = 0; i < (activations ? 1 : 1000); i++) {
            uint64_t size = size_of(&m, thread, &s, flags, &out);
            CHECK(size <= sizeof(sonde_rec_sample) + sizeof(uint64_t));
        }
        CHECK_EQUAL(out.known, 100);
    }
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

static void find_same(sonde_thread *thread, uint32_t depth, uint32_t same)
{
    sonde_event event = {.flags = SONDE_ACTIVATIONS, .same = same};
    memset(sonde_stack(thread), 0, depth * sizeof(uint64_t));
    for (uint32_t i = 0; i < depth; i++) // words that nothing is kept of, so that the ring fills up
        sonde_stack(thread)[i] = thread->slot->taken * 1000 + thread->slot->lost + i;
    sonde_write_stack(thread, depth, &event);
}

// What a sample that is lost had found first, the next one has to write.
static void writes_activations_since_the_last_sample_written(void)
{
    memory m = begin_session(4, 4096);
    sonde_thread *thread = sonde_enter();
    uint32_t index = index_of(thread);
    static decoded out;
    find_same(thread, 10, 10); // marks of an earlier session: to this one they are all new
    find_same(thread, 12, 9);
    for (uint32_t wanted = 0; wanted <= 9; wanted += 9) {
        const sonde_rec_sample *sample = take(&m, index, &out);
        CHECK_EQUAL(sample->same, wanted);
        done(&m, index, sample);
    }
    uint64_t taken = thread->slot->taken;
    while (!thread->slot->lost)
        find_same(thread, 100, 100);
    CHECK(thread->slot->taken > taken);
    find_same(thread, 100, 7); // lost as well
    find_same(thread, 100, 99);
    CHECK_EQUAL(thread->slot->lost, 3);
    const sonde_rec_sample *sample;
    while ((sample = take(&m, index, &out)))
        done(&m, index, sample);
    find_same(thread, 50, 40);
    find_same(thread, 50, 45);
    for (uint32_t i = 0; i < 2; i++) {
        sample = take(&m, index, &out);
        CHECK_EQUAL(sample->same, i ? 45 : 7);
        done(&m, index, sample);
    }
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

// A runtime whose frames are numbers: as many calls as a number says lie at the same place.
typedef struct {
    uint64_t word;
    uintptr_t frame;
    bool marked;
} activation;

typedef struct {
    activation at[304]; // outermost first
    uint32_t depth;
} runtime;

static uint32_t walk(sonde_thread *thread, runtime *r, uint32_t *visited)
{
    bool looks = sonde_walk_begins(thread);
    uint32_t depth = 0, same = 0, detached = thread->detached;
    for (uint32_t i = r->depth; i-- > 0;) {
        activation *a = &r->at[i];
        *sonde_walked_frame(thread, depth) = a->frame | SONDE_FRAME_MARKED;
        sonde_stack(thread)[depth++] = a->word;
        uint32_t met =
            looks && a->marked ? sonde_frame_find(thread, (void *)a->frame) : SONDE_NOWHERE;
        if (met != SONDE_NOWHERE) {
            CHECK_EQUAL(met, i);
            same = met;
            break;
        }
        // All that is marked was in the last stack.
        CHECK(!looks || !a->marked || detached-- > 0);
        a->marked = true;
    }
    *visited += depth;
    thread->walked = (sonde_walked){.traced = true, .words = depth, .same = same};
    return depth;
}

static void call(runtime *r, uint64_t *state)
{
    uint32_t pops = (uint32_t)(draw(state) % 4), pushes = (uint32_t)(draw(state) % 4);
    if (draw(state) % 20 == 0) // a recursion ends, and leaves much of what was written behind
        pops = (uint32_t)(draw(state) % 80);
    if (r->depth < 60 && draw(state) % 200) // rarely all the way up
        pops = 0;
    r->depth -= pops < r->depth ? pops : r->depth;
    if (r->depth) // who goes on is at another instruction
        r->at[r->depth - 1].word = draw(state) % 50;
    for (; pushes && r->depth < 300; pushes--, r->depth++)
        r->at[r->depth] = (activation){draw(state) % 3, 8 * (r->depth + 1), false};
}

// Whatever a walk leaves out, the consumer decodes the whole stack; lost records and stacks of
// somebody else in between included.
static void refers_to_what_was_not_walked(void)
{
    memory m = begin_session(4, 4096);
    sonde_thread *thread = sonde_enter();
    uint32_t index = index_of(thread), visited = 0;
    static decoded out;
    static runtime r, written[64];
    uint64_t state = 17, taken = 0, read = 0, lost = 0, frames = 0;
    for (int round = 0; round < 40000; round++) {
        call(&r, &state);
        if (draw(&state) % 200 == 0)
            sonde_walk_begins(thread); // one that came to nothing
        uint32_t depth = walk(thread, &r, &visited);
        uint64_t *stack = sonde_stack(thread);
        frames += r.depth;
        runtime *expected = &written[taken % 64];
        memcpy(expected, &r, sizeof r);
        if (draw(&state) % 10 == 0 && depth + thread->walked.same < SONDE_MAX_DEPTH) {
            // What is called has no frame and is put on top.
            memmove(stack + 1, stack, depth++ * sizeof *stack);
            stack[0] = 77;
            expected->at[expected->depth++].word = 77;
        }
        sonde_write_stack(thread, depth, &(sonde_event){.time = (uint64_t)round});
        if (thread->slot->lost > lost) {
            lost++;
            CHECK(!thread->walked.known);
        } else {
            CHECK(thread->walked.known);
            taken++;
        }
        uint64_t wanted_by = draw(&state) % 30 == 0 ? draw(&state) % 64 : 0;
        for (uint64_t n = taken - read == 64 ? 64 : wanted_by; n && read < taken; n--) {
            const sonde_rec_sample *sample = take(&m, index, &out);
            CHECK(sample);
            const runtime *wanted = &written[read++ % 64];
            CHECK_EQUAL(out.depth, wanted->depth);
            for (uint32_t i = 0; i < out.depth; i++)
                CHECK(out.frames[i] == wanted->at[i].word);
            done(&m, index, sample);
        }
    }
    CHECK(lost > 10 && taken > 20000);
    CHECK(visited < frames / 3);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

int main(void)
{
    RUN(refers_to_what_was_not_walked);
    RUN(writes_stacks_that_decode);
    RUN(writes_only_what_changed);
    RUN(recursions_cost_little);
    RUN(what_does_not_come_back_is_forgotten);
    RUN(writes_activations_since_the_last_sample_written);
    return 0;
}
