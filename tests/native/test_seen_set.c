// The set of seen things: what an id means must never change.
#include "check.h"
#include "core/session/seen_set.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define PLACE_MASK ((1u << SONDE_SEEN_BITS) - 1)

static sonde_seen *make(void)
{
    sonde_seen *seen = calloc(1, sizeof *seen);
    CHECK(seen);
    return seen;
}

static const void *key(uint64_t n) { return (const void *)(uintptr_t)(0x7f0000000000u + n * 16); }

static uint64_t add(sonde_seen *seen, const void *pointer, bool is_new)
{
    bool fresh;
    uint64_t id = sonde_seen_add(seen, pointer, &fresh);
    CHECK(id != 0);
    CHECK_EQUAL(fresh, is_new);
    return id;
}

static void knows_what_was_written(void)
{
    sonde_seen *seen = make();
    enum { N = 20000 };
    uint64_t *ids = malloc(N * sizeof *ids);
    for (uint64_t i = 0; i < N; i++)
        ids[i] = add(seen, key(i), true);
    for (uint64_t i = 0; i < N; i++)
        CHECK(add(seen, key(i), false) == ids[i]);
    for (uint64_t i = 0; i < N; i += 2)
        sonde_seen_remove(seen, key(i));
    for (uint64_t i = 1; i < N; i += 2)
        CHECK(add(seen, key(i), false) == ids[i]);
    for (uint64_t i = 0; i < N; i += 2)
        CHECK(add(seen, key(i), true) != ids[i]);
    sonde_seen_remove(seen, key(N)); // never there
    free(ids);
    free(seen);
}

// Pointers that differ in one bit only are different things.
static void distinguishes_neighbours(void)
{
    sonde_seen *seen = make();
    uint64_t first = add(seen, (void *)0x7f0000000000u, true);
    for (int bit = 3; bit < 47; bit++) {
        uintptr_t other = (uintptr_t)0x7f0000000000u ^ (uintptr_t)1 << bit;
        CHECK(add(seen, (void *)other, true) != first);
        sonde_seen_remove(seen, (void *)other);
    }
    free(seen);
}

static void never_gives_an_id_twice(void)
{
    sonde_seen *seen = make();
    enum { USES = 1000000 };
    uint8_t *given = calloc(1, 1u << 20);
    uint64_t place = 0;
    for (int i = 0; i < USES; i++) {
        uint64_t id = add(seen, key(5), true);
        if (i == 0)
            place = id & PLACE_MASK;
        CHECK_EQUAL(id & PLACE_MASK, place);
        CHECK(!given[id >> SONDE_SEEN_BITS]);
        given[id >> SONDE_SEEN_BITS] = 1;
        CHECK(id < (uint64_t)1 << 38); // the room for it in a frame's word
        sonde_seen_remove(seen, key(5));
    }
    free(given);
    free(seen);
}

static void forgets_all_but_not_the_ids(void)
{
    sonde_seen *seen = make();
    uint64_t ids[100];
    for (uint64_t i = 0; i < 100; i++)
        ids[i] = add(seen, key(i), true);
    sonde_seen_clear(seen);
    for (uint64_t i = 0; i < 100; i++)
        CHECK(add(seen, key(i), true) != ids[i]);
    free(seen);
}

// Keys that all want the table's last place, so that their probes go round its end.
static void has_an_end_to_probing(void)
{
    sonde_seen *seen = make();
    const void *keys[SONDE_SEEN_PROBES + 1];
    uint64_t ids[SONDE_SEEN_PROBES];
    int found = 0;
    for (uint64_t n = 0; found <= SONDE_SEEN_PROBES; n++) {
        uint64_t id = add(seen, key(n), true); // the table is empty: it gets the place it wants
        sonde_seen_remove(seen, key(n));
        if ((id & PLACE_MASK) == PLACE_MASK)
            keys[found++] = key(n);
    }
    memset(seen, 0, sizeof *seen);
    for (int i = 0; i < SONDE_SEEN_PROBES; i++) {
        ids[i] = add(seen, keys[i], true);
        CHECK_EQUAL(ids[i] & PLACE_MASK, (PLACE_MASK + (uint64_t)i) & PLACE_MASK);
    }
    bool fresh;
    CHECK(sonde_seen_add(seen, keys[SONDE_SEEN_PROBES], &fresh) == 0);
    CHECK(!fresh);
    for (int i = 0; i < SONDE_SEEN_PROBES; i++)
        CHECK(add(seen, keys[i], false) == ids[i]);
    // The place of one that died is found again, though others lie behind it.
    sonde_seen_remove(seen, keys[3]);
    CHECK(add(seen, keys[20], false) == ids[20]);
    uint64_t last = add(seen, keys[SONDE_SEEN_PROBES], true);
    CHECK_EQUAL(last & PLACE_MASK, ids[3] & PLACE_MASK);
    CHECK(last != ids[3]);
    CHECK(sonde_seen_add(seen, keys[3], &fresh) == 0);
    free(seen);
}

// ---- many threads

// Keys live and die as code objects do: whoever looks one up keeps it alive meanwhile, and only who
// has it alone lets it die. All keys fall into few places, so that probes meet constantly.
enum { KEYS = 64, THREADS = 6, ROUNDS = 150000, LIVES = 1 << 15 };

typedef struct {
    pthread_rwlock_t alive;
    const void *pointer;
    uint32_t life;
} living;

static living things[KEYS];
static sonde_seen *shared;
// Which life of which key an id was given to: 0 nobody's, else (life * KEYS + key) + 1.
static _Atomic uint32_t *owners;
static _Atomic uint64_t fresh_ids, second_ids;
#define OWNERS (1u << 24)

static void note_owner(uint64_t id, uint32_t who)
{
    // Places are few: their number and the uses make an index of their own.
    uint64_t at = (id >> SONDE_SEEN_BITS << 8 | (id & 0xff)) & (OWNERS - 1);
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong(&owners[at], &nobody, who))
        CHECK_EQUAL(nobody, who);
}

static void *hammer(void *arg)
{
    uint64_t state = (uintptr_t)arg * 7919 + 1;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t n = (uint32_t)(draw(&state) % KEYS);
        living *thing = &things[n];
        if (draw(&state) % 4 == 0 && pthread_rwlock_trywrlock(&thing->alive) == 0) {
            if (thing->life < LIVES) {
                sonde_seen_remove(shared, thing->pointer);
                thing->life++;
            }
            pthread_rwlock_unlock(&thing->alive);
            continue;
        }
        pthread_rwlock_rdlock(&thing->alive);
        bool fresh;
        uint64_t id = sonde_seen_add(shared, thing->pointer, &fresh);
        CHECK(id != 0);
        note_owner(id, (thing->life * KEYS + n) + 1);
        if (fresh)
            atomic_fetch_add(&fresh_ids, 1);
        // Asked again while it lives: known, and by the same id unless two threads inserted it at
        // once; then one of the two ids stays.
        uint64_t again = sonde_seen_add(shared, thing->pointer, &fresh);
        CHECK(!fresh);
        note_owner(again, (thing->life * KEYS + n) + 1);
        if (again != id)
            atomic_fetch_add(&second_ids, 1);
        pthread_rwlock_unlock(&thing->alive);
    }
    return NULL;
}

static void keeps_ids_apart_under_many_threads(void)
{
    shared = make();
    owners = calloc(OWNERS, sizeof *owners);
    CHECK(owners);
    int found = 0;
    for (uint64_t n = 0; found < KEYS; n++) {
        bool fresh;
        uint64_t id = sonde_seen_add(shared, key(n), &fresh);
        sonde_seen_remove(shared, key(n));
        if ((id & PLACE_MASK) >= 64 && (id & PLACE_MASK) < 160) {
            pthread_rwlock_init(&things[found].alive, NULL);
            things[found++].pointer = key(n);
        }
    }
    memset(shared, 0, sizeof *shared);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&fresh_ids) > ROUNDS / 10);
    // Rare by design; if it were common, the table would be of no use.
    CHECK(atomic_load(&second_ids) * 100 < atomic_load(&fresh_ids));
    // The last ones die: nothing of them is left.
    for (int i = 0; i < KEYS; i++)
        sonde_seen_remove(shared, things[i].pointer);
    for (int i = 0; i < KEYS; i++) {
        uint64_t id = add(shared, things[i].pointer, true);
        note_owner(id, (uint32_t)((LIVES + 1) * KEYS + i) + 1);
    }
    free(owners);
    free(shared);
}

int main(void)
{
    RUN(knows_what_was_written);
    RUN(distinguishes_neighbours);
    RUN(never_gives_an_id_twice);
    RUN(forgets_all_but_not_the_ids);
    RUN(has_an_end_to_probing);
    RUN(keeps_ids_apart_under_many_threads);
    return 0;
}
