// Who waits for what: a waiter is seen by each release, whatever else happens in the table.
#include "check.h"
#include "core/hooks/waiter_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { PROBES = 8 };

static const void *key(uint64_t n) { return (const void *)(uintptr_t)(0x7f0000000000u + n * 16); }

static void a_waiter_is_seen_until_it_ends(void)
{
    CHECK(!sonde_find_waiter(key(1)));
    sonde_waiter *entry = sonde_wait_begin(key(1), 77, 3);
    CHECK(entry);
    CHECK(sonde_find_waiter(key(1)) == entry);
    CHECK_EQUAL(entry->lock, 77);
    CHECK_EQUAL(entry->kind, 3);
    CHECK(!sonde_find_waiter(key(2)));
    sonde_wait_end(key(1));
    CHECK(!sonde_find_waiter(key(1)));
}

static void as_many_ends_as_beginnings(void)
{
    for (int i = 0; i < 5; i++)
        CHECK(sonde_wait_begin(key(1), 77, 3));
    for (int i = 0; i < 5; i++) {
        CHECK(sonde_find_waiter(key(1)));
        sonde_wait_end(key(1));
    }
    CHECK(!sonde_find_waiter(key(1)));
    sonde_wait_end(key(1)); // one too many harms nobody
    sonde_wait_end(key(9)); // nor one that never began
    CHECK(sonde_wait_begin(key(1), 77, 3));
    CHECK(sonde_find_waiter(key(1)));
    sonde_wait_end(key(1));
    CHECK(!sonde_find_waiter(key(1)));
}

// What the last owner did belongs to the waits of then: the next wait begins without it.
static void a_new_wait_knows_no_owner(void)
{
    sonde_waiter *entry = sonde_wait_begin(key(1), 77, 3);
    entry->last_owner = 5;
    entry->last_release = 1000;
    CHECK(sonde_wait_begin(key(1), 77, 3) == entry); // a second waiter of the same lock
    CHECK_EQUAL(entry->last_owner, 5);
    sonde_wait_end(key(1));
    sonde_wait_end(key(1));
    entry = sonde_wait_begin(key(1), 78, 4);
    CHECK_EQUAL(entry->lock, 78);
    CHECK_EQUAL(entry->kind, 4);
    CHECK_EQUAL(entry->last_owner, 0);
    CHECK_EQUAL(entry->last_release, 0);
    sonde_wait_end(key(1));
}

// Keys that share the few places one may be in.
static void find_neighbours(const void **found, int wanted)
{
    const sonde_waiter *first = NULL;
    int n = 0;
    for (uint64_t i = 0; n < wanted; i++) {
        const sonde_waiter *place = sonde_wait_begin(key(i), 1, 1); // alone: its first place
        sonde_wait_end(key(i));
        if (!first)
            first = place;
        if (place == first)
            found[n++] = key(i);
    }
    sonde_waiters_forked(); // the places as they were
}

static void there_is_an_end_to_room(void)
{
    const void *keys[PROBES + 1];
    find_neighbours(keys, PROBES + 1);
    sonde_waiter *entries[PROBES];
    for (int i = 0; i < PROBES; i++) {
        entries[i] = sonde_wait_begin(keys[i], 100 + (uint64_t)i, 1);
        CHECK(entries[i]);
    }
    CHECK(!sonde_wait_begin(keys[PROBES], 1, 1));
    CHECK(!sonde_find_waiter(keys[PROBES]));
    sonde_wait_end(keys[PROBES]); // it was not entered: no other must lose its place
    for (int i = 0; i < PROBES; i++)
        CHECK(sonde_find_waiter(keys[i]) == entries[i] && entries[i]->lock == 100 + (uint64_t)i);
    // The first who goes makes room, and the others are found behind it.
    sonde_wait_end(keys[2]);
    CHECK(sonde_wait_begin(keys[PROBES], 200, 1) == entries[2]);
    for (int i = 0; i < PROBES; i++)
        CHECK((sonde_find_waiter(keys[i]) != NULL) == (i != 2));
    CHECK_EQUAL(sonde_find_waiter(keys[PROBES])->lock, 200);
    sonde_wait_end(keys[PROBES]);
    for (int i = 0; i < PROBES; i++)
        if (i != 2)
            sonde_wait_end(keys[i]);
    for (int i = 0; i <= PROBES; i++)
        CHECK(!sonde_find_waiter(keys[i]));
}

static void a_child_has_no_waiters(void)
{
    CHECK(sonde_wait_begin(key(1), 77, 3));
    CHECK_EQUAL(sonde_lock_sequence(5000), 1);
    CHECK_EQUAL(sonde_lock_sequence(5000), 2);
    sonde_waiters_forked();
    CHECK(!sonde_find_waiter(key(1)));
    CHECK_EQUAL(sonde_lock_sequence(5000), 1);
    sonde_waiters_forked();
}

// ---- many threads

enum { THREADS = 6, KEYS = 24, ROUNDS = 100000 };

static const void *fought_for[KEYS];
static _Atomic uint64_t refused, unseen;

static void *come_and_go(void *arg)
{
    uint64_t state = (uintptr_t)arg * 7919 + 1;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t n = draw(&state) % KEYS;
        if (!sonde_wait_begin(fought_for[n], 1000 + n, (uint32_t)n)) {
            atomic_fetch_add(&refused, 1);
            continue;
        }
        // We wait, so a release sees us. Only where two entered one key at the same time may the
        // place that is found first not be ready yet.
        sonde_waiter *entry = sonde_find_waiter(fought_for[n]);
        if (!entry)
            atomic_fetch_add(&unseen, 1);
        else if (entry->lock != 1000 + n) // another key's by now? Only if ours is elsewhere.
            CHECK(sonde_find_waiter(fought_for[n])->lock == 1000 + n);
        sonde_wait_end(fought_for[n]);
    }
    return NULL;
}

static void nobody_is_lost_under_many_threads(void)
{
    find_neighbours(fought_for, KEYS); // 24 keys for 8 places: they meet all the time
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, come_and_go, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&unseen) * 1000 < THREADS * ROUNDS);
    CHECK(atomic_load(&refused) < THREADS * ROUNDS / 2);
    for (int i = 0; i < KEYS; i++)
        CHECK(!sonde_find_waiter(fought_for[i]));
    // All is empty: there is room for as many as there are places.
    for (int i = 0; i < PROBES; i++)
        CHECK(sonde_wait_begin(fought_for[i], 1, 1));
    for (int i = 0; i < PROBES; i++)
        sonde_wait_end(fought_for[i]);
}

enum { LOCKS = 50, NUMBERS = 20000 };
static _Atomic uint8_t *given;

static void *take_numbers(void *arg)
{
    uint64_t state = (uintptr_t)arg * 104729 + 1, last[LOCKS] = {0};
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t lock = draw(&state) % LOCKS;
        uint64_t number = sonde_lock_sequence(0x550000000000u + lock * 64);
        CHECK(!(number & SONDE_SEQUENCE_SHARED));
        CHECK(number > last[lock]);
        last[lock] = number;
        CHECK_EQUAL(atomic_fetch_add(&given[lock * THREADS * NUMBERS + number - 1], 1), 0);
    }
    return NULL;
}

static void numbers_have_no_gaps_and_no_twins(void)
{
    sonde_waiters_forked();
    given = calloc(LOCKS * THREADS * NUMBERS, 1);
    CHECK(given);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, take_numbers, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t total = 0;
    for (int lock = 0; lock < LOCKS; lock++) {
        uint64_t n = 0;
        while (n < THREADS * NUMBERS && given[lock * THREADS * NUMBERS + n])
            n++;
        total += n; // up to the first gap
    }
    CHECK_EQUAL(total, THREADS * NUMBERS);
    free((void *)given);
}

// More locks than there is room for: their numbers order events, and state that they show no gaps.
static void too_many_locks_share_numbers(void)
{
    sonde_waiters_forked();
    enum { MANY = 40000 };
    uint64_t own = 0, last_shared = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t number = sonde_lock_sequence(0x550000000000u + i * 48);
        if (number & SONDE_SEQUENCE_SHARED) {
            CHECK(number > last_shared);
            last_shared = number;
        } else {
            CHECK_EQUAL(number, 1);
            own++;
        }
    }
    CHECK(own > 6000 && own < MANY);
    CHECK(last_shared);
    // Who has numbers of its own keeps them.
    for (uint64_t i = 0; i < MANY; i += 997) {
        uint64_t number = sonde_lock_sequence(0x550000000000u + i * 48);
        CHECK(number == 2 || number > last_shared);
    }
    sonde_waiters_forked();
}

int main(void)
{
    RUN(a_waiter_is_seen_until_it_ends);
    RUN(as_many_ends_as_beginnings);
    RUN(a_new_wait_knows_no_owner);
    RUN(there_is_an_end_to_room);
    RUN(a_child_has_no_waiters);
    RUN(nobody_is_lost_under_many_threads);
    RUN(numbers_have_no_gaps_and_no_twins);
    RUN(too_many_locks_share_numbers);
    return 0;
}
