// Open spans by frame: the innermost is found, whatever else is opened and closed around it.
#include "check.h"
#include "core/hooks/spans.h"

#include <pthread.h>
#include <stdatomic.h>

static const void *frame(uint64_t n) { return (const void *)(uintptr_t)(0x7f0000000000u + n * 8); }
static const void *const code = (const void *)0x1000, *const other_code = (const void *)0x2000;

static void the_innermost_of_a_frame_is_found(void)
{
    CHECK_EQUAL(sonde_span_of(frame(1), code), 0);
    uint32_t a = sonde_span_number(), b = sonde_span_number();
    CHECK(a && b && a != b);
    CHECK(sonde_span_open(frame(1), code, a));
    CHECK_EQUAL(sonde_span_of(frame(1), code), a);
    CHECK(sonde_span_open(frame(1), code, b));
    CHECK_EQUAL(sonde_span_of(frame(1), code), b);
    CHECK_EQUAL(sonde_span_of(frame(2), code), 0);
    // Another function whose frame lies where one was that never left its span.
    CHECK_EQUAL(sonde_span_of(frame(1), other_code), 0);
    CHECK_EQUAL(sonde_span_close(frame(1), b), b);
    CHECK_EQUAL(sonde_span_of(frame(1), code), a);
    CHECK_EQUAL(sonde_span_close(frame(1), a), a);
    CHECK_EQUAL(sonde_span_of(frame(1), code), 0);
    CHECK_EQUAL(sonde_spans_open, 0);
}

static void one_left_elsewhere_is_closed_by_its_number(void)
{
    uint32_t a = sonde_span_number(), b = sonde_span_number();
    CHECK(sonde_span_open(frame(1), code, a));
    CHECK_EQUAL(sonde_span_close(frame(9), a), a);
    CHECK_EQUAL(sonde_span_close(frame(9), a), 0);
    // One object for two: the number is that of the second, and the first is found by its frame.
    CHECK(sonde_span_open(frame(1), code, a));
    CHECK(sonde_span_open(frame(2), code, b));
    CHECK_EQUAL(sonde_span_close(frame(1), b), a);
    CHECK_EQUAL(sonde_span_of(frame(2), code), b);
    CHECK_EQUAL(sonde_span_close(frame(2), b), b);
    CHECK_EQUAL(sonde_spans_open, 0);
}

// As an event loop does: many open, closed in any order; against a plain array.
static void any_order(void)
{
    enum { FRAMES = 3000 };
    static uint32_t model[FRAMES];
    uint64_t seed = 7;
    for (int i = 0; i < 300000; i++) {
        uint32_t n = (uint32_t)(draw(&seed) % FRAMES);
        CHECK_EQUAL(sonde_span_of(frame(n), code), model[n]);
        if (model[n]) {
            CHECK_EQUAL(sonde_span_close(frame(n), model[n]), model[n]);
            model[n] = 0;
        } else {
            uint32_t id = sonde_span_number();
            if (sonde_span_open(frame(n), code, id))
                model[n] = id;
        }
    }
    uint32_t open = 0;
    for (int n = 0; n < FRAMES; n++)
        open += model[n] != 0;
    CHECK_EQUAL(sonde_spans_open, open);
    CHECK(open > FRAMES / 3);
    sonde_spans_forget();
    CHECK_EQUAL(sonde_spans_open, 0);
    for (int n = 0; n < FRAMES; n++)
        CHECK_EQUAL(sonde_span_of(frame(n), code), 0);
}

static void a_full_table_refuses(void)
{
    uint32_t opened = 0;
    for (uint64_t n = 0; n < 1u << (SONDE_SPANS_BITS + 1); n++)
        opened += sonde_span_open(frame(n), code, sonde_span_number());
    CHECK(opened > 1u << (SONDE_SPANS_BITS - 1));
    CHECK(opened <= 1u << SONDE_SPANS_BITS);
    CHECK_EQUAL(sonde_spans_open, opened);
    sonde_spans_forget();
}

static _Atomic bool stop;

static void *reads(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        uint32_t found = sonde_span_of(frame(5), code);
        CHECK(found == 0 || found == UINT32_MAX);
    }
    return NULL;
}

// A handler of another thread may look at any moment: what it finds is right or nothing.
static void readers_never_see_anothers(void)
{
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, reads, NULL) == 0);
    for (int i = 0; i < 200000; i++) {
        CHECK(sonde_span_open(frame(5), code, UINT32_MAX));
        CHECK_EQUAL(sonde_span_close(frame(5), UINT32_MAX), UINT32_MAX);
    }
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
}

int main(void)
{
    RUN(the_innermost_of_a_frame_is_found);
    RUN(one_left_elsewhere_is_closed_by_its_number);
    RUN(any_order);
    RUN(a_full_table_refuses);
    RUN(readers_never_see_anothers);
    return 0;
}
