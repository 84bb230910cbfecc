// A session from start to stop, its slots, and children that must leave it alone.
#define _GNU_SOURCE
#include "check.h"
#include "core/base/clock.h"
#include "core/session/records.h"
#include "recorder_side.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// ---- starting

static int start_with(sonde_config config)
{
    // The memory fits what the configuration says, whatever that is.
    int fd = memfd_create("sonde-test", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, 64 << 20) == 0);
    int error = sonde_session_start(&config, fd);
    close(fd);
    CHECK((error == 0) == (atomic_load(&sonde.generation) != 0));
    sonde_session_stop();
    return error;
}

static void refuses_what_it_does_not_understand(void)
{
    sonde_config good = config_for(8, 4096), bad;
    CHECK_EQUAL(start_with(good), 0);
    bad = good, bad.magic++;
    CHECK_EQUAL(start_with(bad), EPROTO);
    bad = good, bad.protocol++;
    CHECK_EQUAL(start_with(bad), EPROTO);
    bad = good, bad.size--;
    CHECK_EQUAL(start_with(bad), EPROTO);
    bad = good, bad.size = UINT64_MAX;
    CHECK_EQUAL(start_with(bad), EPROTO);
    CHECK_EQUAL(start_with(config_for(0, 4096)), EPROTO);
    CHECK_EQUAL(start_with(config_for(8, 0)), EPROTO);
    CHECK_EQUAL(start_with(config_for(8, 2048)), EPROTO);
    CHECK_EQUAL(start_with(config_for(8, 4096 + 8)), EPROTO);
    CHECK_EQUAL(start_with(config_for(8, 3 * 4096)), EPROTO);
    CHECK(!sonde_enter());
}

static void refuses_memory_that_is_not_there(void)
{
    sonde_config config = config_for(8, 4096);
    CHECK_EQUAL(sonde_session_start(&config, -1), EBADF);
    int fd = memfd_create("too short", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)config.size - 4096) == 0);
    CHECK_EQUAL(sonde_session_start(&config, fd), EPROTO);
    close(fd);
    CHECK(!sonde_enter());
}

static void says_when_it_is_active(void)
{
    memory m = begin_session(4, 4096);
    CHECK_EQUAL(atomic_load(&m.header->active), 1);
    CHECK_EQUAL(atomic_load(&m.slots[0].tid), SONDE_NOTES_TID);
    sonde_session_stop();
    CHECK_EQUAL(atomic_load(&m.header->active), 0);
    sonde_session_stop(); // again: nothing
    CHECK(!sonde_enter());
    drop_memory(&m);
}

// ---- slots

static void *enter_once(void *arg)
{
    pthread_barrier_t *barrier = arg;
    sonde_thread *thread = sonde_enter();
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (thread) {
        CHECK(thread->mark->busy);
        CHECK_EQUAL(atomic_load(&thread->slot->tid), tid);
        sonde_leave(thread);
        CHECK(!thread->mark->busy);
        CHECK(sonde_enter() == thread); // the same one as long as the session lasts
        sonde_leave(thread);
    }
    pthread_barrier_wait(barrier);
    return thread;
}

static void counts_threads_that_find_no_slot(void)
{
    enum { THREADS = 10, SLOTS = 7 };
    memory m = begin_session(SLOTS, 4096); // one of them is for notes
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, enter_once, &barrier) == 0);
    bool taken[SLOTS] = {true};
    int got = 0;
    for (int i = 0; i < THREADS; i++) {
        void *thread;
        pthread_join(threads[i], &thread);
        if (!thread)
            continue;
        uint32_t index = index_of(thread);
        CHECK(index < SLOTS && !taken[index]);
        taken[index] = true;
        got++;
    }
    CHECK_EQUAL(got, SLOTS - 1);
    CHECK_EQUAL(atomic_load(&m.header->no_slot), THREADS - got);
    CHECK_EQUAL(atomic_load(&m.header->slots_used), SLOTS);
    CHECK(!sonde_slot_acquire(4711));
    CHECK_EQUAL(atomic_load(&m.header->no_slot), THREADS - got + 1);
    // The recorder frees one: it is found again, and begins with no stack before it.
    sonde.threads[3].depth = sonde.threads[3].last_stack_size = 17;
    atomic_store(&m.slots[3].tid, 0);
    atomic_store(&m.slots[3].state, SONDE_SLOT_FREE);
    sonde_thread *claimed = sonde_slot_acquire(4711);
    CHECK(claimed == &sonde.threads[3]);
    CHECK_EQUAL(claimed->depth, 0);
    CHECK_EQUAL(claimed->last_stack_size, 0);
    CHECK_EQUAL(atomic_load(&m.slots[3].tid), 4711);
    sonde_session_stop();
    pthread_barrier_destroy(&barrier);
    drop_memory(&m);
}

static void lends_the_notes_to_one_at_a_time(void)
{
    memory m = begin_session(4, 4096);
    sonde_thread *notes = sonde_notes_enter();
    CHECK(notes && index_of(notes) == 0);
    CHECK(!sonde_notes_enter());
    sonde_notes_leave();
    CHECK(sonde_notes_enter() == notes);
    sonde_notes_leave();
    sonde_session_stop();
    CHECK(!sonde_notes_enter());
    drop_memory(&m);
}

// ---- ending while threads are at it

enum { HAMMERS = 8 };
static _Atomic bool hammering;

static void *hammer(void *arg)
{
    uint64_t state = (uintptr_t)arg + 1, *entered = calloc(1, sizeof *entered);
    while (atomic_load(&hammering)) {
        sonde_thread *thread = sonde_enter();
        if (!thread) {
            sched_yield();
            continue;
        }
        // Nobody else is in here, and the memory is there until we leave.
        uint32_t depth = (uint32_t)(draw(&state) % 100);
        for (uint32_t i = 0; i < depth; i++)
            sonde_stack(thread)[i] = draw(&state) % 4;
        sonde_event event = {.time = sonde_now()};
        CHECK_EQUAL(atomic_load(&thread->slot->tid), syscall(SYS_gettid));
        sonde_write_stack(thread, depth, &event);
        sonde_leave(thread);
        ++*entered;
        sonde_thread *notes = sonde_notes_enter();
        if (notes) {
            sonde_write_stack(notes, 0, &event);
            sonde_notes_leave();
        }
    }
    return entered;
}

static void stops_while_threads_write(void)
{
    pthread_t threads[HAMMERS];
    atomic_store(&hammering, true);
    for (uintptr_t i = 0; i < HAMMERS; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, (void *)i) == 0);
    uint64_t taken = 0, lost = 0;
    static decoded out;
    for (int session = 0; session < 600; session++) {
        memory m = begin_session(session % 3 ? 64 : 5, 8192); // sometimes too few slots for all
        // Also right away, while threads are still about to claim their slots.
        struct timespec while_ = {0, session % 2 * 500000};
        if (session % 2)
            nanosleep(&while_, NULL);
        for (volatile int i = session % 20 * 200; i > 0; i--)
            ;
        sonde_session_stop();
        // What was written before the end is whole.
        uint64_t heads[64];
        for (uint32_t i = 0; i < m.config.nslots; i++) {
            heads[i] = atomic_load(&m.slots[i].head);
            out.depth = out.known = 0;
            uint64_t n = 0;
            for (const sonde_rec_sample *s; (s = take(&m, i, &out)); n++)
                done(&m, i, s);
            CHECK_EQUAL(n, m.slots[i].taken);
            taken += n;
            lost += m.slots[i].lost;
        }
        sched_yield();
        for (uint32_t i = 0; i < m.config.nslots; i++)
            CHECK_EQUAL(atomic_load(&m.slots[i].head), heads[i]);
        drop_memory(&m);
    }
    atomic_store(&hammering, false);
    uint64_t entered = 0;
    for (int i = 0; i < HAMMERS; i++) {
        void *count;
        pthread_join(threads[i], &count);
        entered += *(uint64_t *)count;
        free(count);
    }
    CHECK(entered > 1000 && taken > 1000);
    CHECK(entered <= taken + lost);
}

// ---- forks

static void be_a_child(void)
{
    // Nothing of the parent's session is touched, and one of our own can begin.
    sonde_session_forked();
    CHECK(!sonde_enter());
    sonde_session_stop();
    memory m = begin_session(4, 4096);
    sonde_thread *thread = sonde_enter();
    CHECK(thread);
    CHECK_EQUAL(thread->depth, 0);
    sonde_stack(thread)[0] = 1;
    sonde_write_stack(thread, 1, &(sonde_event){0});
    sonde_leave(thread);
    CHECK_EQUAL(m.slots[index_of(thread)].taken, 1);
    sonde_session_stop();
}

static void leaves_the_parents_session_alone(void)
{
    memory m = begin_session(4, 4096);
    sonde_thread *thread = sonde_enter(); // in a handler while another thread forks
    CHECK(thread);
    sonde_stack(thread)[0] = 1;
    sonde_write_stack(thread, 1, &(sonde_event){0});
    uint64_t head = atomic_load(&thread->slot->head);
    CHECK_EQUAL(exit_code_of(be_a_child), 0);
    CHECK_EQUAL(atomic_load(&thread->slot->head), head);
    CHECK_EQUAL(atomic_load(&m.header->slots_used), 2);
    CHECK_EQUAL(atomic_load(&m.header->active), 1);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

// In a forked child the memory is not even there, but for the header.
static void touch_the_parents_rings(void)
{
    signal(SIGSEGV, SIG_DFL);
    atomic_fetch_add(&sonde.header->no_slot, 1);
    atomic_fetch_add(&sonde.slots[0].head, 1);
}

static void be_counted(void)
{
    sonde_session_forked();
    CHECK_EQUAL(sonde_parent_orders().period_ns, 1000);
    sonde_parent_forget(false);
    sonde_parent_forget(false); // nothing is left to count in
}

static void counts_children_that_do_not_join(void)
{
    memory m = begin_session(4, 4096);
    atomic_store(&m.header->period_ns, 1000);
    CHECK_EQUAL(exit_code_of(be_counted), 0);
    CHECK_EQUAL(atomic_load(&m.header->unjoined_children), 1);
    sonde_session_stop();
    drop_memory(&m);
}

static void keeps_rings_out_of_children(void)
{
    memory m = begin_session(4, 4096);
    CHECK_EQUAL(signal_that_ends(touch_the_parents_rings), SIGSEGV);
    sonde_session_stop();
    drop_memory(&m);
}

static void knows_what_it_ran_until_something_dies(void)
{
    static int things[3];
    for (int session = 0; session < 2; session++) { // the second must not know of the first
        memory m = begin_session(4, 4096);
        sonde_thread *thread = sonde_enter();
        CHECK(thread);
        sonde_id_cache_refresh(thread);
        for (int i = 0; i < 3; i++) {
            sonde_id_cache_entry *place = sonde_id_cache_place(thread, &things[i]);
            CHECK(place->key != &things[i]);
            *place = (sonde_id_cache_entry){&things[i], (uint64_t)i};
            CHECK(sonde_id_cache_place(thread, &things[i]) == place);
            sonde_id_cache_refresh(thread);
            CHECK(place->key == &things[i]);
        }
        atomic_fetch_add(&sonde.deaths, (uint64_t)session);
        sonde_id_cache_refresh(thread);
        CHECK_EQUAL(sonde_id_cache_place(thread, &things[2])->key == &things[2], session == 0);
        sonde_leave(thread);
        sonde_session_stop();
        drop_memory(&m);
    }
}

int main(void)
{
    RUN(refuses_what_it_does_not_understand);
    RUN(refuses_memory_that_is_not_there);
    RUN(says_when_it_is_active);
    RUN(counts_threads_that_find_no_slot);
    RUN(lends_the_notes_to_one_at_a_time);
    RUN(stops_while_threads_write);
    RUN(leaves_the_parents_session_alone);
    RUN(keeps_rings_out_of_children);
    RUN(counts_children_that_do_not_join);
    RUN(knows_what_it_ran_until_something_dies);
    return 0;
}
