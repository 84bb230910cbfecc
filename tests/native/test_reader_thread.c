// The reader of other threads: it believes only what did not move while it looked.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/sampling/reader_thread.h"
#include "core/signals/fault_guard.h"
#include "recorder_side.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

// ---- threads of a runtime that does what the test wants

enum { RUNS, STANDS, MOVES_WHILE_READ, FAULTS, GONE, KINDS };

typedef struct {
    int kind;
    _Atomic uint64_t cpu, walked;
} imagined;

static imagined threads[KINDS];
static _Atomic int listed_threads; // -1: the lists move
static volatile char *volatile nowhere = (char *)8;

static uint32_t tid_of(int kind) { return 1000000u + (uint32_t)kind; } // none of the kernel's

static int list(sonde_thread_ref *out, int room)
{
    int n = atomic_load(&listed_threads);
    CHECK(n <= room);
    for (int i = 0; i < n; i++)
        out[i] = (sonde_thread_ref){tid_of(i), &threads[i]};
    return n;
}

static uint64_t cpu(uint32_t tid)
{
    imagined *t = &threads[tid - tid_of(0)];
    if (t->kind == GONE)
        return 0;
    // One that runs does so between our ticks, not while we have its core.
    return atomic_load(&t->cpu);
}

__attribute__((no_sanitize("address", "undefined"))) static uint32_t
walk(sonde_thread *to, void *state, sonde_event *event)
{
    imagined *t = state;
    atomic_fetch_add(&t->walked, 1);
    event->interpreter = 2;
    if (t->kind == FAULTS)
        *nowhere = 1;
    if (t->kind == MOVES_WHILE_READ)
        atomic_fetch_add(&t->cpu, 1);
    for (uint64_t i = 0; i < 3; i++)
        sonde_stack(to)[i] = 100 * (uint64_t)t->kind + i;
    return 3;
}

static const void *top(void *state)
{
    imagined *t = state; // across cores the top of a stack that moves is never the same
    return (void *)(uintptr_t)(t->kind == MOVES_WHILE_READ ? atomic_fetch_add(&t->cpu, 1) + 1 : 1);
}

static const sonde_reader_ops ops = {list, cpu, "self", walk, top, NULL};

// ---- a session with them

static memory m;

static void begin(uint32_t sampler, uint32_t what, uint64_t period_ns, bool wait_signals)
{
    for (int i = 0; i < KINDS; i++) {
        threads[i].kind = i;
        atomic_store(&threads[i].cpu, 1000);
        atomic_store(&threads[i].walked, 0);
    }
    atomic_store(&listed_threads, KINDS);
    sonde_config config = config_for(16, 1u << 16);
    config.what = what;
    config.period_ns = period_ns;
    m = make_memory(config);
    sonde_guard_install();
    CHECK_EQUAL(sonde_session_start(&m.config, m.memfd), 0);
    sonde_arm arm = {.magic = SONDE_MAGIC, .sampler = sampler, .wait_signals = wait_signals};
    CHECK_EQUAL(sonde_reader_start(&arm, &ops), 0);
}

static void end(void)
{
    sonde_reader_stop();
    sonde_session_stop();
    sonde_guard_remove();
    drop_memory(&m);
}

static sonde_slot *slot_of(uint32_t tid)
{
    for (uint32_t i = 0; i < m.config.nslots; i++)
        if (atomic_load(&m.slots[i].tid) == tid)
            return &m.slots[i];
    return NULL;
}

static uint64_t walked(int kind) { return atomic_load(&threads[kind].walked); }

// Lets the threads that run run, until each was walked so often.
static void run_until_walked(const int *kinds, int count, uint64_t times)
{
    for (;;) {
        bool all = true;
        for (int i = 0; i < count; i++) {
            if (kinds[i] != STANDS)
                atomic_fetch_add(&threads[kinds[i]].cpu, 1000);
            all = all && walked(kinds[i]) >= times;
        }
        if (all)
            return;
        struct timespec a_little = {0, 100000};
        nanosleep(&a_little, NULL);
    }
}

static void believes(uint32_t sampler)
{
    begin(sampler, SONDE_WHAT_CPU, 100000, false);
    CHECK_EQUAL(atomic_load(&m.header->reader_mode), sampler);
    int running[] = {RUNS, MOVES_WHILE_READ, FAULTS};
    run_until_walked(running, 3, 50);
    sonde_reader_stop();
    CHECK(atomic_load(&m.header->reader_cpu_ns) > 0);
    sonde_slot *slot = slot_of(tid_of(RUNS));
    CHECK(slot && slot->taken >= 10);
    decoded out = {.depth = 0};
    uint32_t index = (uint32_t)(slot - m.slots);
    const sonde_rec_sample *sample = take(&m, index, &out);
    CHECK(sample && sample->rec.kind == SONDE_REC_SAMPLE && sample->rec.state == SONDE_RUNNING);
    CHECK_EQUAL(sample->interpreter, 2);
    CHECK(sample->cpu >= 1000 && sample->time <= sonde_now());
    CHECK_EQUAL(out.depth, 3);
    CHECK_EQUAL(out.frames[2], 100 * RUNS);
    // Not believed, and counted as not taken.
    for (int kind = MOVES_WHILE_READ; kind <= FAULTS; kind++) {
        slot = slot_of(tid_of(kind));
        CHECK(slot && slot->taken == 0 && slot->lost > 0);
    }
    CHECK(atomic_load(&m.header->faults) >= walked(FAULTS));
    // Who did not run has no sample; who is gone is not even looked at.
    CHECK_EQUAL(walked(STANDS), 0);
    CHECK_EQUAL(walked(GONE), 0);
    CHECK(!slot_of(tid_of(STANDS)) && !slot_of(tid_of(GONE)));
    end();
}

static void believes_what_stood_still(void) { believes(SONDE_SAMPLER_READER); }
static void believes_an_unchanged_top_across_cores(void) { believes(SONDE_SAMPLER_CROSS_CORE); }

static void sees_waits_where_it_samples(void)
{
    begin(SONDE_SAMPLER_READER, SONDE_WHAT_CPU | SONDE_WHAT_WAITS, 100000, false);
    int waiting[] = {STANDS};
    run_until_walked(waiting, 1, 2);
    sonde_reader_stop();
    sonde_slot *slot = slot_of(tid_of(STANDS));
    CHECK(slot && slot->taken >= 1);
    decoded out = {.depth = 0};
    uint64_t last = 0;
    for (const sonde_rec_sample *s; (s = take(&m, (uint32_t)(slot - m.slots), &out));) {
        CHECK_EQUAL(s->rec.state, SONDE_WAITING);
        CHECK_EQUAL(s->rec.kind, SONDE_REC_SAMPLE);
        CHECK_EQUAL(out.frames[2], 100 * STANDS);
        CHECK(s->time > last);
        last = s->time;
        done(&m, (uint32_t)(slot - m.slots), s);
    }
    end();
}

static void sees_open_waits_for_others(void)
{
    begin(SONDE_SAMPLER_PERF, SONDE_WHAT_CPU | SONDE_WHAT_WAITS, 100000, true);
    CHECK_EQUAL(atomic_load(&m.header->reader_mode), SONDE_SAMPLER_NONE);
    int waiting[] = {STANDS};
    run_until_walked(waiting, 1, 1);
    sonde_reader_stop();
    decoded out = {.depth = 0};
    bool found = false;
    for (const sonde_rec_sample *s; (s = take(&m, 0, &out)); done(&m, 0, s))
        if (s->tid == tid_of(STANDS)) {
            CHECK_EQUAL(s->rec.kind, SONDE_REC_OPEN_WAIT);
            CHECK_EQUAL(out.frames[2], 100 * STANDS);
            found = true;
        }
    CHECK(found);
    CHECK(!slot_of(tid_of(STANDS))); // its slot is its own to claim
    end();
}

static void lives_with_lists_that_move(void)
{
    begin(SONDE_SAMPLER_READER, SONDE_WHAT_CPU, 100000, false);
    int running[] = {RUNS};
    run_until_walked(running, 1, 3);
    atomic_store(&listed_threads, -1);
    run_until_walked(running, 1, walked(RUNS) + 5); // those known are still looked at
    atomic_store(&listed_threads, 0);
    // Once the list is looked at again there is nobody left; how long that takes is not our matter.
    for (uint64_t before = UINT64_MAX; before != walked(RUNS);) {
        before = walked(RUNS);
        atomic_fetch_add(&threads[RUNS].cpu, 1000);
        struct timespec a_while = {0, 50000000};
        nanosleep(&a_while, NULL);
    }
    end();
}

static void is_only_there_when_needed(void)
{
    begin(SONDE_SAMPLER_PERF, SONDE_WHAT_CPU, 100000, true);
    sched_yield();
    CHECK_EQUAL(walked(RUNS), 0);
    end();
}

// Who stops a session holds the runtime's lock: the reader does not sleep to the end of its period.
static void stops_at_once(void)
{
    for (int i = 0; i < 200; i++) {
        begin(SONDE_SAMPLER_READER, SONDE_WHAT_CPU, 1000000000000u, false);
        if (i % 2)
            sched_yield();
        end();
    }
}

static void be_a_child(void)
{
    sonde_session_forked();
    sonde_reader_forked();
    sonde_reader_stop(); // there is no such thread here: nothing to wait for
    begin(SONDE_SAMPLER_READER, SONDE_WHAT_CPU, 100000, false);
    int running[] = {RUNS};
    run_until_walked(running, 1, 3);
    end();
}

static void starts_anew_in_a_child(void)
{
    begin(SONDE_SAMPLER_READER, SONDE_WHAT_CPU, 100000, false);
    int running[] = {RUNS};
    run_until_walked(running, 1, 3);
    CHECK_EQUAL(exit_code_of(be_a_child), 0);
    end();
}

int main(void)
{
    alarm(100); // a stop that does not come is a failure
    RUN(believes_what_stood_still);
    RUN(believes_an_unchanged_top_across_cores);
    RUN(sees_waits_where_it_samples);
    RUN(sees_open_waits_for_others);
    RUN(lives_with_lists_that_move);
    RUN(is_only_there_when_needed);
    RUN(stops_at_once);
    RUN(starts_anew_in_a_child);
    return 0;
}
