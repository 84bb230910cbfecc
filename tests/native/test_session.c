// A session's slots and stacks: whatever threads do at whatever moment, what a consumer decodes is
// what was written.
#define _GNU_SOURCE
#include "check.h"
#include "clock.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static sonde_config config_for(uint32_t nslots, uint32_t ring_size)
{
    return (sonde_config){
        .magic = SONDE_MAGIC,
        .protocol = SONDE_PROTOCOL,
        .size = SONDE_HEADER_SIZE + (uint64_t)nslots * (SONDE_SLOT_SIZE + ring_size),
        .period_ns = 1000000,
        .nslots = nslots,
        .ring_size = ring_size,
        .what = SONDE_WHAT_CPU,
    };
}

// ---- the recorder's side: a mapping of its own of the same memory

typedef struct {
    sonde_config config;
    int memfd;
    uint8_t *at;
    sonde_header *header;
    sonde_slot *slots;
} memory;

static memory make(sonde_config config)
{
    memory m = {.config = config, .memfd = memfd_create("sonde-test", MFD_CLOEXEC)};
    CHECK(m.memfd >= 0 && ftruncate(m.memfd, (off_t)config.size) == 0);
    m.at = mmap(NULL, config.size, PROT_READ | PROT_WRITE, MAP_SHARED, m.memfd, 0);
    CHECK(m.at != MAP_FAILED);
    m.header = (sonde_header *)m.at;
    m.slots = (sonde_slot *)(m.at + SONDE_HEADER_SIZE);
    return m;
}

static void drop(memory *m)
{
    munmap(m->at, m->config.size);
    close(m->memfd);
}

static const uint8_t *ring_of(const memory *m, uint32_t slot)
{
    return m->at + SONDE_HEADER_SIZE + (size_t)m->config.nslots * SONDE_SLOT_SIZE +
           (size_t)slot * m->config.ring_size;
}

static memory begin(uint32_t nslots, uint32_t ring_size)
{
    memory m = make(config_for(nslots, ring_size));
    CHECK_EQUAL(sonde_session_start(&m.config, m.memfd), 0);
    return m;
}

// ---- a decoder of stack records, from the description in shm.h alone

typedef struct {
    uint64_t frames[SONDE_MAX_DEPTH]; // outermost first, so that what is kept stays in place
    uint32_t depth;
} decoded;

// Takes the slot's next stack into `stack`; NULL if there is no record.
static const sonde_rec_sample *take(const memory *m, uint32_t index, decoded *stack)
{
    sonde_slot *slot = &m->slots[index];
    for (;;) {
        uint64_t tail = atomic_load(&slot->tail), head = atomic_load(&slot->head);
        if (tail == head)
            return NULL;
        const uint8_t *at = ring_of(m, index) + (tail & (m->config.ring_size - 1));
        const sonde_rec *rec = (const sonde_rec *)at;
        CHECK(rec->size >= 8 && rec->size % 8 == 0 && rec->size <= head - tail);
        if (rec->kind == SONDE_REC_PAD) {
            atomic_store(&slot->tail, tail + rec->size);
            continue;
        }
        CHECK(rec->kind == SONDE_REC_SAMPLE || rec->kind == SONDE_REC_OPEN_WAIT);
        const sonde_rec_sample *sample = (const sonde_rec_sample *)at;
        CHECK_EQUAL(rec->size, sizeof *sample + sample->count * sizeof(uint64_t));
        CHECK(sample->keep <= stack->depth && sample->keep + sample->count <= SONDE_MAX_DEPTH);
        stack->depth = sample->keep;
        for (uint32_t i = sample->count; i-- > 0;)
            stack->frames[stack->depth++] = sample->frames[i];
        return sample;
    }
}

static void done(const memory *m, uint32_t index, const sonde_rec_sample *sample)
{
    sonde_slot *slot = &m->slots[index];
    atomic_store(&slot->tail, atomic_load(&slot->tail) + sample->rec.size);
}

static uint32_t index_of(const sonde_thread *thread)
{
    return (uint32_t)(thread->slot - sonde.slots);
}

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
    memory m = begin(4, 4096);
    CHECK_EQUAL(atomic_load(&m.header->active), 1);
    CHECK_EQUAL(atomic_load(&m.slots[0].tid), SONDE_NOTES_TID);
    sonde_session_stop();
    CHECK_EQUAL(atomic_load(&m.header->active), 0);
    sonde_session_stop(); // again: nothing
    CHECK(!sonde_enter());
    drop(&m);
}

// ---- slots

static void *enter_once(void *arg)
{
    pthread_barrier_t *barrier = arg;
    sonde_thread *thread = sonde_enter();
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (thread) {
        CHECK(thread->busy);
        CHECK_EQUAL(atomic_load(&thread->slot->tid), tid);
        sonde_leave(thread);
        CHECK(!thread->busy);
        CHECK(sonde_enter() == thread); // the same one as long as the session lasts
        sonde_leave(thread);
    }
    pthread_barrier_wait(barrier);
    return thread;
}

static void counts_threads_that_find_no_slot(void)
{
    enum { THREADS = 10, SLOTS = 7 };
    memory m = begin(SLOTS, 4096); // one of them is for notes
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
    CHECK(!sonde_claim(4711));
    CHECK_EQUAL(atomic_load(&m.header->no_slot), THREADS - got + 1);
    // The recorder frees one: it is found again, and begins with no stack before it.
    sonde.threads[3].depth = 17;
    atomic_store(&m.slots[3].tid, 0);
    atomic_store(&m.slots[3].state, SONDE_SLOT_FREE);
    sonde_thread *claimed = sonde_claim(4711);
    CHECK(claimed == &sonde.threads[3]);
    CHECK_EQUAL(claimed->depth, 0);
    CHECK_EQUAL(atomic_load(&m.slots[3].tid), 4711);
    sonde_session_stop();
    pthread_barrier_destroy(&barrier);
    drop(&m);
}

static void lends_the_notes_to_one_at_a_time(void)
{
    memory m = begin(4, 4096);
    sonde_thread *notes = sonde_notes_enter();
    CHECK(notes && index_of(notes) == 0);
    CHECK(!sonde_notes_enter());
    sonde_notes_leave();
    CHECK(sonde_notes_enter() == notes);
    sonde_notes_leave();
    sonde_session_stop();
    CHECK(!sonde_notes_enter());
    drop(&m);
}

// ---- stacks

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
                         .thread_object = number * 11,
                         .state = (uint8_t)(number % 3),
                         .flags = number % 13 == 0 ? SONDE_TRUNCATED : 0};
}

static void expect_event(const sonde_rec_sample *got, const sonde_event *wanted)
{
    CHECK_EQUAL(got->rec.kind, wanted->tid ? SONDE_REC_OPEN_WAIT : SONDE_REC_SAMPLE);
    CHECK_EQUAL(got->rec.state, wanted->state);
    CHECK_EQUAL(got->rec.flags, wanted->flags);
    CHECK_EQUAL(got->time, wanted->time);
    CHECK_EQUAL(got->cpu, wanted->cpu);
    CHECK_EQUAL(got->interpreter, wanted->interpreter);
    CHECK_EQUAL(got->tid, wanted->tid);
    CHECK_EQUAL(got->thread_object, wanted->thread_object);
}

// The consumer takes its records at random moments, so the ring is full every so often: stacks are
// lost then, and those after them must come out right all the same.
static void writes_stacks_that_decode(void)
{
    enum { ROUNDS = 60000, WAITING = 64 };
    memory m = begin(4, 1u << 16);
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
    drop(&m);
}

static void writes_only_what_changed(void)
{
    memory m = begin(4, 1u << 16);
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
    drop(&m);
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
    for (int session = 0; session < 200; session++) {
        memory m = begin(session % 3 ? 64 : 5, 8192); // sometimes too few slots for all
        struct timespec while_ = {0, 500000};
        nanosleep(&while_, NULL);
        sonde_session_stop();
        // What was written before the end is whole.
        uint64_t heads[64];
        for (uint32_t i = 0; i < m.config.nslots; i++) {
            heads[i] = atomic_load(&m.slots[i].head);
            out.depth = 0;
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
        drop(&m);
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
    memory m = begin(4, 4096);
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
    memory m = begin(4, 4096);
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
    drop(&m);
}

// In a forked child the memory is not even there.
static void touch_the_parents_rings(void)
{
    signal(SIGSEGV, SIG_DFL);
    atomic_fetch_add(&sonde.header->no_slot, 1);
}

static void keeps_rings_out_of_children(void)
{
    memory m = begin(4, 4096);
    CHECK_EQUAL(signal_that_ends(touch_the_parents_rings), SIGSEGV);
    sonde_session_stop();
    drop(&m);
}

int main(void)
{
    RUN(refuses_what_it_does_not_understand);
    RUN(refuses_memory_that_is_not_there);
    RUN(says_when_it_is_active);
    RUN(counts_threads_that_find_no_slot);
    RUN(lends_the_notes_to_one_at_a_time);
    RUN(writes_stacks_that_decode);
    RUN(writes_only_what_changed);
    RUN(stops_while_threads_write);
    RUN(leaves_the_parents_session_alone);
    RUN(keeps_rings_out_of_children);
    return 0;
}
