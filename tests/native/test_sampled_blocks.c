// Sampled blocks by address, and the countdowns that choose them.
#include "check.h"
#include "cpython/objects/countdown.h"
#include "cpython/objects/sampled_blocks.h"

#include <math.h>
#include <pthread.h>

static const void *address(uint64_t n) { return (const void *)(uintptr_t)(0x10000 + n * 16); }

static void knows_what_was_added(void)
{
    enum { N = 20000 };
    sonde_block block;
    uint64_t full = 0;
    for (uint64_t i = 0; i < N; i++)
        if (!sonde_block_add(address(i), &(sonde_block){.size = i, .id = i + 1}))
            full++;
    CHECK(full < N / 100);
    for (uint64_t i = 0; i < N; i++) {
        if (!sonde_may_be_sampled(address(i)) || !sonde_block_take(address(i), &block))
            continue;
        CHECK_EQUAL(block.id, i + 1);
        CHECK_EQUAL(block.size, i);
        CHECK(!sonde_block_take(address(i), &block));
        full++;
    }
    CHECK_EQUAL(full, N);
    for (uint64_t i = 0; i < N; i++)
        CHECK(!sonde_may_be_sampled(address(i)));
}

static void a_held_block_is_not_taken(void)
{
    sonde_block block;
    CHECK(sonde_block_add(address(1), &(sonde_block){.id = 7}));
    sonde_block *held = sonde_block_hold(address(1));
    CHECK(held && held->id == 7);
    CHECK(!sonde_block_hold(address(1)));
    held->typed = true;
    sonde_block_release(address(1));
    CHECK(sonde_block_take(address(1), &block) && block.typed);
    CHECK(!sonde_block_hold(address(1)));
}

static uint32_t visited;

static void visit(const void *at, sonde_block *block)
{
    CHECK(address(block->id) == at);
    visited++;
}

static void is_empty_after_a_fork(void)
{
    sonde_block block;
    for (uint64_t i = 0; i < 100; i++)
        CHECK(sonde_block_add(address(i), &(sonde_block){.id = i}));
    sonde_blocks_each(visit);
    CHECK_EQUAL(visited, 100);
    CHECK(sonde_block_hold(address(5))); // as by a thread that the child does not have
    sonde_blocks_clear();
    for (uint64_t i = 0; i < 100; i++)
        CHECK(!sonde_block_take(address(i), &block));
    CHECK(sonde_block_add(address(5), &(sonde_block){.id = 5}));
    sonde_blocks_clear();
}

// Each thread has addresses of its own, as blocks have one owner; one more looks into all of them.
enum { THREADS = 4, EACH = 500, TURNS = 200 };
static _Atomic bool done;

static void *own(void *arg)
{
    uint64_t first = (uint64_t)(uintptr_t)arg * EACH;
    sonde_block block;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint64_t i = first; i < first + EACH; i++)
            CHECK(sonde_block_add(address(i), &(sonde_block){.id = i}));
        for (uint64_t i = first; i < first + EACH; i++)
            CHECK(sonde_block_take(address(i), &block) && block.id == i);
    }
    return NULL;
}

static void *look(void *unused)
{
    (void)unused;
    while (!atomic_load(&done))
        for (uint64_t i = 0; i < THREADS * EACH; i++) {
            sonde_block *block = sonde_block_hold(address(i));
            if (!block)
                continue;
            CHECK_EQUAL(block->id, i);
            sonde_block_release(address(i));
        }
    return NULL;
}

static void threads_do_not_meet(void)
{
    pthread_t threads[THREADS], looker;
    pthread_create(&looker, NULL, look, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, own, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&done, true);
    pthread_join(looker, NULL);
}

// Of blocks of n bytes the share 1 - exp(-n / mean) is sampled, within five standard deviations.
static void samples_by_bytes(void)
{
    static const size_t sizes[] = {16, 100, 1000, 5000};
    enum { N = 200000, MEAN = 1000 };
    sonde_countdown_set_mean(SONDE_SMALL, MEAN);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t sampled = 0;
        for (int i = 0; i < N; i++) {
            const void *pending;
            if (sonde_counts(SONDE_SMALL, sizes[s]))
                sampled += sonde_countdown_ended(SONDE_SMALL, sizes[s], &pending);
        }
        double p = 1 - exp(-(double)sizes[s] / MEAN);
        CHECK(fabs(sampled - N * p) < 5 * sqrt(N * p * (1 - p)) + 1);
    }
}

static void looks_at_the_last_block_next(void)
{
    const void *pending;
    int64_t left = sonde_countdown_mine.left[SONDE_LARGE] = 1000;
    sonde_countdown_mine.left[SONDE_SMALL] = 500;
    sonde_countdown_look_early(address(3));
    CHECK(sonde_counts(SONDE_LARGE, 16));
    CHECK(!sonde_countdown_ended(SONDE_LARGE, 16, &pending));
    CHECK(pending == address(3));
    CHECK_EQUAL(sonde_countdown_mine.left[SONDE_LARGE], left - 16);
    CHECK_EQUAL(sonde_countdown_mine.left[SONDE_SMALL], 500);
    CHECK(!sonde_counts(SONDE_SMALL, 16));
}

int main(void)
{
    knows_what_was_added();
    a_held_block_is_not_taken();
    is_empty_after_a_fork();
    threads_do_not_meet();
    samples_by_bytes();
    looks_at_the_last_block_next();
    return 0;
}
