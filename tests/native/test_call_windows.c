// Windows in which calls are counted: which calls are taken, how long a window lasted, who may end
// it.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/sampling/call_windows.h"
#include "recorder_side.h"

#include <string.h>

static memory begin(uint32_t stride, uint32_t samples, uint64_t every)
{
    memory m = make_memory(config_for(4, 1 << 16));
    atomic_store(&m.header->what, SONDE_WHAT_CPU | SONDE_WHAT_CALLS);
    atomic_store(&m.header->period_ns, 1000000);
    atomic_store(&m.header->stride, stride);
    atomic_store(&m.header->samples, samples);
    atomic_store(&m.header->window_ns, every);
    CHECK_EQUAL(sonde_session_start(&m.config, m.memfd), 0);
    return m;
}

static void end(memory *m)
{
    sonde_windows_set_opener(NULL);
    sonde_session_stop();
    drop_memory(m);
}

static const sonde_rec *next(const memory *m, uint32_t index)
{
    sonde_slot *slot = &m->slots[index];
    uint64_t tail = atomic_load(&slot->tail);
    if (tail == atomic_load(&slot->head))
        return NULL;
    const sonde_rec *rec =
        (const sonde_rec *)(ring_of(m, index) + (tail & (m->config.ring_size - 1)));
    atomic_store(&slot->tail, tail + rec->size);
    return rec->kind == SONDE_REC_PAD ? next(m, index) : rec;
}

// As the runtime of two kinds of windows does.
static void open_next(sonde_thread *thread)
{
    sonde_window_open(thread, sonde_window_shows_all(&thread->window));
}

// ---- which calls

enum { FIRST = 4 }; // calls, which no window of four is over before

typedef struct { // of one kind of windows: what they are to take, and what they took
    uint32_t stride, samples;
    uint32_t windows, calls, seen[FIRST];
} kind;

// Opens a window and makes calls until it is full.
static kind *fill(sonde_thread *thread, kind *python, kind *all)
{
    sonde_event event = {0};
    uint32_t taken = 0, call = 0, last = 0;
    open_next(thread);
    kind *of = thread->window.all ? all : python;
    for (bool over = false; !over;) {
        call++;
        if (!sonde_window_counts(&thread->window))
            continue;
        CHECK(call - last < 2 * of->stride);
        last = call;
        if (call <= FIRST)
            of->seen[call - 1]++;
        taken++;
        *sonde_stack(thread) = 77;
        over = sonde_window_take(thread, 1, &event, __rdtsc());
    }
    CHECK_EQUAL(taken, of->samples);
    CHECK(!thread->window.open);
    of->windows++;
    of->calls += call;
    return of;
}

static void took_every_stride_th(const kind *of)
{
    // Each has the same chance; five standard deviations are allowed.
    double chance = 1.0 / of->stride, expected = of->windows * chance;
    for (int call = 0; call < FIRST; call++) {
        double off = of->seen[call] - expected;
        CHECK(off * off <= 25 * expected * (1 - chance));
    }
    // The first is taken after (2 * stride + 1) / 3 calls on average, the others a stride after
    // another, by steps of 1 to 2 * stride - 1; as many standard deviations.
    double stride = of->stride, others = of->samples - 1;
    double mean = (2 * stride + 1) / 3 + others * stride;
    double variance = (2 * stride + 1) * (stride - 1) / 9 + others * stride * (stride - 1) / 3;
    double off = (double)of->calls / of->windows - mean;
    CHECK(off * off <= 25 * variance / of->windows);
}

static void takes_every_stride_th_call_on_average(void)
{
    // Windows that show all calls take more of them, and reach as far.
    kind python = {.stride = 12, .samples = 4}, all = {.stride = 3, .samples = 16};
    enum { WINDOWS = 20000 };
    memory m = begin(12, 4, 1);
    sonde_thread *thread = sonde_enter();
    uint32_t index = index_of(thread), taken = 0;
    for (int i = 0; i < WINDOWS; i++) {
        const kind *of = fill(thread, &python, &all);
        for (uint32_t call = 0; call < of->samples; call++) {
            const sonde_rec *rec = next(&m, index);
            CHECK_EQUAL(rec->kind, SONDE_REC_CALL);
            CHECK_EQUAL(((const sonde_rec_call *)rec)->window, i + 1);
        }
        const sonde_rec *rec = next(&m, index);
        CHECK_EQUAL(rec->kind, SONDE_REC_WINDOW);
        CHECK_EQUAL(rec->state, SONDE_WINDOW_FULL);
        CHECK_EQUAL(((const sonde_rec_window *)rec)->window, i + 1);
        CHECK_EQUAL(((const sonde_rec_window *)rec)->stride, of->stride);
        CHECK(!next(&m, index));
        taken += of->samples;
    }
    // Every other one at first.
    CHECK_EQUAL(all.windows, SONDE_ALL_AT_FIRST / 2 + (WINDOWS - 1) / SONDE_ALL_EVERY);
    took_every_stride_th(&python);
    took_every_stride_th(&all);
    CHECK_EQUAL(thread->slot->calls, taken);
    CHECK_EQUAL(thread->slot->windows, WINDOWS);
    sonde_leave(thread);
    end(&m);
}

// A stride that cannot be as fine is as fine as can be.
static void windows_of_all_calls_have_a_stride(void)
{
    for (uint32_t stride = 1; stride <= 6; stride++) {
        memory m = begin(stride, 4, 1);
        sonde_thread *thread = sonde_enter();
        open_next(thread); // the first shows all
        CHECK(thread->window.all);
        CHECK_EQUAL(thread->window.stride, 1);
        CHECK_EQUAL(thread->window.left, 4 * (stride < 4 ? stride : 4));
        sonde_window_cut(thread);
        sonde_leave(thread);
        end(&m);
    }
}

// ---- how long

static void burn(uint64_t ns)
{
    uint64_t until = sonde_thread_cpu() + ns;
    while (sonde_thread_cpu() < until)
        ;
}

enum { PROGRAM = 100000, OURS = 80000, TRIES = 500 };

// The duration reported for a window of two calls; 0 if another thread was on CPU meanwhile.
static uint64_t reported_duration(memory *m, sonde_thread *thread)
{
    sonde_event event = {0};
    uint64_t began = sonde_now(), cpu = sonde_thread_cpu();
    open_next(thread);
    for (int call = 0; call < 2; call++) {
        burn(PROGRAM);
        CHECK(sonde_window_counts(&thread->window));
        uint64_t tsc = __rdtsc();
        burn(OURS);
        sonde_window_take(thread, 0, &event, tsc);
    }
    bool disturbed = sonde_now() - began > sonde_thread_cpu() - cpu + PROGRAM / 10;
    const sonde_rec *rec;
    while ((rec = next(m, index_of(thread)))->kind != SONDE_REC_WINDOW)
        ;
    return disturbed ? 0 : ((const sonde_rec_window *)rec)->duration_ns;
}

static void what_it_took_itself_does_not_count(void)
{
    memory m = begin(1, 2, 1);
    sonde_thread *thread = sonde_enter();
    uint64_t lasted = 0, agent = thread->slot->agent_ns;
    // What the hypervisor steals counts as CPU time, and makes some longer.
    for (int i = 0, known = 0; i < TRIES && known < 9; i++) {
        uint64_t one = reported_duration(&m, thread);
        known += one > 0;
        lasted = one && (!lasted || one < lasted) ? one : lasted;
    }
    CHECK(lasted > PROGRAM && lasted < 2 * PROGRAM + OURS);
    CHECK(thread->slot->agent_ns - agent >= OURS);
    sonde_leave(thread);
    end(&m);
}

static void what_reporting_took_is_not_believed_beyond_reason(void)
{
    memory m = begin(1, 1, 1);
    sonde_thread *thread = sonde_enter();
    open_next(thread);
    atomic_store(&thread->window.cut, thread->window.cpu + 4000);
    thread->window.reporting_tsc = INT64_MAX / 2;
    thread->window.ns_per_tsc = 0.5;
    thread->window.min_tsc = 6000;
    sonde_window_cut(thread);
    CHECK_EQUAL(((const sonde_rec_window *)next(&m, index_of(thread)))->duration_ns, 3000);
    // Nor that it was most of the time.
    static const int64_t estimates[] = {2000, INT64_MAX / 2};
    static const uint64_t left[] = {3000, 2000};
    for (int i = 0; i < 2; i++) {
        open_next(thread);
        atomic_store(&thread->window.cut, thread->window.cpu + 4000);
        thread->window.reporting_tsc = estimates[i];
        thread->window.ns_per_tsc = 0.5;
        sonde_window_cut(thread);
        CHECK_EQUAL(((const sonde_rec_window *)next(&m, index_of(thread)))->duration_ns, left[i]);
    }
    open_next(thread); // nor that the calls took less than they can
    atomic_store(&thread->window.cut, thread->window.cpu + 4000);
    thread->window.min_tsc = UINT64_MAX / 2;
    sonde_window_cut(thread);
    CHECK_EQUAL(((const sonde_rec_window *)next(&m, index_of(thread)))->duration_ns, 1);
    sonde_leave(thread);
    end(&m);
}

// A window of two calls, `ns` before each.
static void two_calls(sonde_thread *thread, uint64_t ns)
{
    sonde_event event = {0};
    open_next(thread);
    sonde_window_begins(&thread->window, __rdtsc());
    for (int call = 0; call < 2; call++) {
        burn(ns);
        sonde_window_take(thread, 0, &event, __rdtsc());
    }
}

// Opens windows until one does not ask the kernel.
static bool come_to_not_asking(memory *m, sonde_thread *thread)
{
    for (int i = 0; i < TRIES; i++) {
        two_calls(thread, 0);
        while (next(m, index_of(thread)))
            ;
        if (!thread->window.asks)
            return true;
    }
    return false;
}

static void asks_the_kernel_only_where_it_may_have_been_away(void)
{
    enum { SHORT = 10000, FIRST_ASK = 16, ASK_AFTER = 32 };
    memory m = begin(1, 2, 1);
    sonde_thread *thread = sonde_enter();
    for (int i = 0; i < FIRST_ASK; i++) {
        two_calls(thread, 0);
        CHECK(thread->window.asks);
    }
    burn(5000000); // from here on it is known how fast the processor counts
    CHECK(come_to_not_asking(&m, thread));
    two_calls(thread, PROGRAM);
    for (int i = 0; i < ASK_AFTER; i++) {
        two_calls(thread, 0);
        CHECK(thread->window.asks);
    }
    uint64_t lasted = 0;
    for (int i = 0; i < TRIES && !(lasted > 2 * SHORT && lasted < 4 * SHORT); i++) {
        CHECK(come_to_not_asking(&m, thread));
        two_calls(thread, SHORT);
        const sonde_rec *rec;
        while ((rec = next(&m, index_of(thread)))->kind != SONDE_REC_WINDOW)
            ;
        lasted = thread->window.asks ? 0 : ((const sonde_rec_window *)rec)->duration_ns;
    }
    CHECK(lasted > 2 * SHORT && lasted < 4 * SHORT);
    sonde_leave(thread);
    end(&m);
}

static void one_that_does_not_ask_ends_when_another_thread_says(void)
{
    memory m = begin(1, 2, 1);
    sonde_thread *thread = sonde_enter();
    two_calls(thread, 0);
    burn(5000000);
    do {
        CHECK(come_to_not_asking(&m, thread));
        open_next(thread);
    } while (thread->window.asks);
    uint64_t lasts = __rdtsc() - thread->window.tsc;
    sonde_window_cut_by_another(thread);
    CHECK(atomic_load(&thread->window.cut) >= thread->window.tsc + lasts);
    uint64_t cut = atomic_load(&thread->window.cut) - thread->window.tsc;
    burn(1000000);
    sonde_window_cut(thread);
    const sonde_rec *rec = next(&m, index_of(thread));
    CHECK_EQUAL(rec->state, SONDE_WINDOW_CUT);
    double duration = (double)((const sonde_rec_window *)rec)->duration_ns;
    double expected = (double)cut * thread->window.ns_per_tsc;
    CHECK(duration > expected - 2 && duration < expected + 2);
    sonde_leave(thread);
    end(&m);
}

// When in a window of two calls they were made, without what was spent on the first; false if
// somebody else had the processor meanwhile.
static bool read_offsets(memory *m, sonde_thread *thread, uint64_t offsets[2])
{
    uint64_t began = sonde_now(), cpu = sonde_thread_cpu();
    sonde_event event = {0};
    open_next(thread);
    burn(OURS); // the handler ends, and the first call comes
    sonde_window_begins(&thread->window, __rdtsc());
    for (int call = 0; call < 2; call++) {
        burn(PROGRAM);
        CHECK(sonde_window_counts(&thread->window));
        uint64_t tsc = __rdtsc();
        burn(OURS);
        sonde_window_take(thread, 0, &event, tsc);
    }
    bool disturbed = sonde_now() - began > sonde_thread_cpu() - cpu + PROGRAM / 10;
    for (int call = 0; call < 2; call++)
        offsets[call] = ((const sonde_rec_call *)next(m, index_of(thread)))->offset_ns;
    CHECK_EQUAL(next(m, index_of(thread))->kind, SONDE_REC_WINDOW);
    return !disturbed;
}

static void calls_report_when_in_their_window_they_were_made(void)
{
    memory m = begin(1, 2, 1);
    sonde_thread *thread = sonde_enter();
    uint64_t offsets[2];
    bool whole = read_offsets(&m, thread, offsets);
    burn(5000000); // from here on it is known how fast the processor counts
    for (int i = 0; i < TRIES && !(whole = read_offsets(&m, thread, offsets)); i++)
        ;
    CHECK(whole);
    // The least that was ever seen until the first call is none of the window's own time.
    CHECK(offsets[0] > PROGRAM / 2 && offsets[0] < PROGRAM + OURS / 2);
    CHECK(offsets[1] > offsets[0] + PROGRAM / 2 && offsets[1] < offsets[0] + OURS / 2 + PROGRAM);
    sonde_leave(thread);
    end(&m);
}

// Calls right after the tick are slower: they are passed over, and so is their time.
static void warms_up_before_it_counts(void)
{
    enum { SHORT = 10000 };
    memory m = begin(1, 2, 1);
    sonde_thread *thread = sonde_enter();
    sonde_window *window = &thread->window;
    two_calls(thread, 0);
    burn(5000000); // from here on it is known how fast the processor counts
    uint64_t lasted = 0;
    for (int i = 0; i < TRIES && !(lasted > PROGRAM - SHORT && lasted < 2 * PROGRAM); i++) {
        sonde_event event = {0};
        while (next(&m, index_of(thread)))
            ;
        open_next(thread);
        sonde_window_begins(window, __rdtsc());
        sonde_window_warm_up(window);
        CHECK(!sonde_window_is_warm(window, window->tsc, 0));
        while (!sonde_window_is_warm(window, __rdtsc(), 0))
            ;
        for (int call = 0; call < 2 && window->open; call++) {
            burn(call ? 0 : PROGRAM);
            sonde_window_take(thread, 0, &event, __rdtsc());
        }
        const sonde_rec *rec;
        while ((rec = next(&m, index_of(thread))) && rec->kind != SONDE_REC_WINDOW)
            ;
        lasted = rec ? ((const sonde_rec_window *)rec)->duration_ns : 0;
        if (window->open)
            sonde_window_cut(thread);
    }
    CHECK(lasted > PROGRAM - SHORT && lasted < 2 * PROGRAM);
    // One whose first call came later than that is warm.
    open_next(thread);
    burn(PROGRAM);
    sonde_window_begins(window, __rdtsc());
    sonde_window_warm_up(window);
    CHECK(sonde_window_is_warm(window, window->tsc, 0));
    sonde_window_cut(thread);
    sonde_leave(thread);
    end(&m);
}

static void counts_fewer_of_dense_calls_further_apart(void)
{
    memory m = begin(4, 8, 1);
    sonde_thread *thread = sonde_enter();
    sonde_window *window = &thread->window;
    for (int i = 0; i < 4; i++) {
        bool dense = i >= 2;
        open_next(thread);
        sonde_window_begins(window, __rdtsc());
        sonde_window_warm_up(window);
        CHECK(!sonde_window_is_warm(window, window->tsc, dense ? 1000 : 0));
        CHECK(sonde_window_is_warm(window, UINT64_MAX / 2, 0));
        uint32_t stride = window->all ? 1 : dense ? 16 : 4;
        CHECK_EQUAL(window->stride, stride);
        CHECK_EQUAL(window->left, window->all ? 32 : dense ? 4 : 8);
        CHECK(window->skip >= 1 && window->skip < 2 * stride);
        sonde_window_cut(thread);
    }
    sonde_leave(thread);
    end(&m);
}

static void another_thread_records_when_it_was_cut(void)
{
    memory m = begin(1, 8, 1);
    sonde_thread *thread = sonde_enter();
    open_next(thread);
    CHECK(thread->window.asks);
    sonde_window_cut_by_another(thread);
    CHECK(atomic_load(&thread->window.cut) >= thread->window.cpu);
    atomic_store(&thread->window.cut, thread->window.cpu + 4242);
    burn(1000000);
    sonde_window_cut(thread);
    const sonde_rec *rec = next(&m, index_of(thread));
    CHECK_EQUAL(rec->kind, SONDE_REC_WINDOW);
    CHECK_EQUAL(rec->state, SONDE_WINDOW_CUT);
    CHECK_EQUAL(((const sonde_rec_window *)rec)->duration_ns, 4242); // none of it was ours
    sonde_leave(thread);
    end(&m);
}

static void a_full_ring_is_counted(void)
{
    memory m = begin(1, 1 << 20, 1);
    sonde_thread *thread = sonde_enter();
    sonde_event event = {0};
    open_next(thread);
    for (uint32_t i = 0; i < 1 << 16; i++) {
        *sonde_stack(thread) = i; // never the one before
        sonde_window_take(thread, 1, &event, __rdtsc());
    }
    CHECK(thread->slot->calls_lost > 0);
    CHECK_EQUAL(thread->slot->calls + thread->slot->calls_lost, 1 << 16);
    uint64_t lost = thread->slot->calls_lost;
    sonde_window_cut(thread); // and so are those of a window whose end found no room
    CHECK_EQUAL(thread->slot->calls_lost, lost + (1 << 16));
    sonde_leave(thread);
    end(&m);
}

// ---- how often

static int asked;
static void count_asked(sonde_thread *thread, const ucontext_t *context)
{
    (void)thread;
    (void)context;
    asked++;
}

static int asked_in(memory *m, int ticks)
{
    sonde_thread *thread = sonde_enter();
    thread->window.due_ns = 0;
    asked = 0;
    for (int i = 0; i < ticks; i++)
        sonde_windows_tick(thread, NULL);
    sonde_leave(thread);
    (void)m;
    return asked;
}

static void opens_as_often_as_ordered(void)
{
    memory m = begin(1, 1, 10000000);
    CHECK_EQUAL(asked_in(&m, 1000), 0); // nobody to open them
    sonde_windows_set_opener(count_asked);
    CHECK_EQUAL(asked_in(&m, 1000), 100);
    atomic_store(&m.header->period_ns, 3000000); // no part of ten
    CHECK_EQUAL(asked_in(&m, 1000), 300);
    atomic_store(&m.header->period_ns, 10000000);
    CHECK_EQUAL(asked_in(&m, 1000), 1000);
    atomic_store(&m.header->period_ns, 40000000); // not more than one a tick
    CHECK_EQUAL(asked_in(&m, 1000), 1000);
    atomic_store(&m.header->what, SONDE_WHAT_CPU);
    CHECK_EQUAL(asked_in(&m, 1000), 0);
    end(&m);
}

// The caller is the frame below, also where the walk left it out because it was written before.
static void knows_where_the_call_was_made(void)
{
    enum { CALLER = 7, CALLEE = 1 };
    memory m = begin(1, 4, 0);
    sonde_thread *thread = sonde_enter();
    CHECK(thread);
    open_next(thread);
    for (uint32_t same = 0; same < 2; same++) {
        sonde_stack(thread)[0] = 5ull << SONDE_INSTR_BITS | CALLEE;
        sonde_stack(thread)[1] = 6ull << SONDE_INSTR_BITS | CALLER;
        thread->walked.same = same;
        sonde_write_call(thread, 2 - same, 0, 0);
        const sonde_rec *rec = next(&m, index_of(thread));
        CHECK_EQUAL(rec->kind, SONDE_REC_CALL);
        CHECK_EQUAL(((const sonde_rec_call *)rec)->site, CALLER);
        CHECK_EQUAL(((const sonde_rec_call *)rec)->count, same ? 0 : 2);
    }
    sonde_leave(thread);
    end(&m);
}

int main(void)
{
    RUN(knows_where_the_call_was_made);
    RUN(takes_every_stride_th_call_on_average);
    RUN(windows_of_all_calls_have_a_stride);
    RUN(what_it_took_itself_does_not_count);
    RUN(what_reporting_took_is_not_believed_beyond_reason);
    RUN(calls_report_when_in_their_window_they_were_made);
    RUN(asks_the_kernel_only_where_it_may_have_been_away);
    RUN(warms_up_before_it_counts);
    RUN(counts_fewer_of_dense_calls_further_apart);
    RUN(another_thread_records_when_it_was_cut);
    RUN(one_that_does_not_ask_ends_when_another_thread_says);
    RUN(a_full_ring_is_counted);
    RUN(opens_as_often_as_ordered);
    return 0;
}
