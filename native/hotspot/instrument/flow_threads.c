#define _GNU_SOURCE
#include "hotspot/instrument/flow_threads.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/session/session.h"
#include "hotspot/locks/virtual_threads.h"
#include "hotspot/vm/vm.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    sonde_flow_thread at;
    sonde_flow_carrier *carrier; // in whose tree
} virtual_place;

struct sonde_flow_carrier {
    _Alignas(64) _Atomic uint32_t busy;
    uint32_t tid;
    uint64_t number;  // of its own thread
    uint64_t current; // of the thread that it carried last
    virtual_place *place;
    sonde_flow_thread own;
};

// As the session's slots.
static sonde_flow_carrier carriers[SONDE_MAX_SLOTS + 1]; // and one more in training
static _Atomic bool active;
static bool has_barrier;

static _Thread_local struct {
    uint32_t generation;
    sonde_flow_carrier *carrier;
} mine __attribute__((tls_model("initial-exec")));

// ---- places of virtual threads that are in calls, by their numbers

// Calls of a virtual thread that are taken along to another one that carries it.
#define MAX_MOVED 512u

#define PLACES_BITS 16
#define WINDOW 64u // so many places may have a number

static _Atomic uint64_t *numbers; // 0: free
static virtual_place *places;

static uint32_t window_of(uint64_t number, uint32_t step)
{
    return (sonde_hash_place(number, PLACES_BITS) + step) & ((1u << PLACES_BITS) - 1);
}

// Only the thread itself looks for its number, adds it and takes it out.
static virtual_place *find_place(uint64_t number)
{
    for (uint32_t step = 0; step < WINDOW; step++) {
        uint32_t at = window_of(number, step);
        if (atomic_load_explicit(&numbers[at], memory_order_relaxed) == number)
            return &places[at];
    }
    return NULL;
}

static virtual_place *add_place(uint64_t number)
{
    for (uint32_t step = 0; step < WINDOW; step++) {
        uint32_t at = window_of(number, step);
        uint64_t is_free = 0;
        if (atomic_compare_exchange_strong(&numbers[at], &is_free, number)) {
            places[at] = (virtual_place){0};
            return &places[at];
        }
    }
    return NULL;
}

static uint64_t number_of(const virtual_place *place)
{
    return atomic_load_explicit(&numbers[place - places], memory_order_relaxed);
}

static void remove_place(virtual_place *place)
{
    atomic_store_explicit(&numbers[place - places], 0, memory_order_release);
}

// ---- the thread of the kernel's

static sonde_flow_carrier *find_carrier(void)
{
    sonde_thread *me = sonde_enter();
    if (!me)
        return NULL;
    sonde_flow_carrier *carrier = &carriers[me - sonde.threads];
    uint32_t tid = atomic_load(&me->slot->tid);
    sonde_leave(me);
    if (carrier->tid != tid)
        *carrier = (sonde_flow_carrier){.tid = tid};
    mine.carrier = carrier;
    mine.generation = atomic_load(&sonde.generation);
    return carrier;
}

static bool begin_own(sonde_flow_carrier *carrier)
{
    return carrier->own.run == sonde_flow.run || sonde_flow_thread_begin(&carrier->own);
}

static bool is_virtual(JNIEnv *env)
{
    jthread thread = NULL;
    if (!sonde_virtual_supported() || (*sonde_vm.jvmti)->GetCurrentThread(sonde_vm.jvmti, &thread))
        return false;
    bool found = sonde_virtual(env, thread);
    (*env)->DeleteLocalRef(env, thread);
    return found;
}

// The same calls, in the tree of the thread that carries it now.
static void take_along(virtual_place *place, sonde_flow_carrier *carrier)
{
    uint64_t keys[MAX_MOVED];
    uint32_t depth = 0;
    const sonde_flow_node *nodes = sonde_flow.nodes;
    for (uint32_t at = place->at.cur; nodes[at].parent; at = nodes[at].parent) {
        if (depth == MAX_MOVED) { // deeper ones are not distinguished
            depth = 0;
            break;
        }
        keys[depth++] = nodes[at].key;
    }
    place->at.root = place->at.cur = carrier->own.root;
    place->carrier = carrier;
    while (depth) {
        uint32_t child = sonde_flow_child(&place->at, keys[--depth]);
        if (child)
            place->at.cur = child;
    }
}

// A virtual thread that this one did not carry when it was last seen. Its time since is unknown,
// unless it is wanted with the time in which it did not run.
static sonde_flow_thread *carry(sonde_flow_carrier *carrier, uint64_t number, uint64_t now)
{
    virtual_place *place = find_place(number);
    bool was_known = place && place->at.run == sonde_flow.run;
    if (!place && !(place = add_place(number)))
        return NULL;
    if (!was_known) {
        place->at = carrier->own;
        place->at.cur = carrier->own.root;
        place->at.over = place->at.kinds = 0;
        place->at.left = now;
        place->carrier = carrier;
    } else if (place->carrier != carrier) {
        take_along(place, carrier);
    }
    if (sonde_flow.metric == SONDE_FLOW_CPU) {
        place->at.left = place->at.tick = now;
        place->at.cpu = sonde_thread_cpu();
        place->at.kinds = 0;
    }
    carrier->current = number;
    carrier->place = place;
    return &place->at;
}

static sonde_flow_thread *other_thread(JNIEnv *env, sonde_flow_carrier *carrier, uint64_t number,
                                       uint64_t now)
{
    if (!begin_own(carrier))
        return NULL;
    if (carrier->place && carrier->current == number && number_of(carrier->place) == number &&
        carrier->place->carrier == carrier)
        return &carrier->place->at;
    if (number && is_virtual(env))
        return carry(carrier, number, now);
    carrier->number = number;
    carrier->own.left = now;
    return &carrier->own;
}

sonde_flow_thread *sonde_flow_thread_at(JNIEnv *env, uint64_t number, uint64_t now,
                                        sonde_flow_carrier **found)
{
    if (!atomic_load_explicit(&active, memory_order_relaxed))
        return NULL;
    sonde_flow_carrier *carrier = mine.carrier;
    if (mine.generation != atomic_load_explicit(&sonde.generation, memory_order_relaxed) &&
        !(carrier = find_carrier()))
        return NULL;
    // sonde_flow_threads_stop() has the barrier for both.
    if (__builtin_expect(has_barrier, 1))
        atomic_store_explicit(&carrier->busy, 1, memory_order_relaxed);
    else
        atomic_store(&carrier->busy, 1);
    atomic_signal_fence(memory_order_seq_cst);
    sonde_flow_thread *thread = NULL;
    if (__builtin_expect(atomic_load_explicit(&active, memory_order_relaxed), 1)) {
        thread = &carrier->own;
        if (carrier->number != number || thread->run != sonde_flow.run)
            thread = other_thread(env, carrier, number, now);
    }
    if (!thread)
        atomic_store_explicit(&carrier->busy, 0, memory_order_release);
    *found = carrier;
    return thread;
}

void sonde_flow_thread_done(sonde_flow_carrier *carrier, sonde_flow_thread *thread, bool left)
{
    if (left && thread != &carrier->own && thread->cur == thread->root && !thread->over) {
        remove_place(carrier->place);
        carrier->place = NULL;
    }
    atomic_store_explicit(&carrier->busy, 0, memory_order_release);
}

// ---- beginning and end

void sonde_flow_threads_train(bool training)
{
    sonde_flow_carrier *trained = &carriers[SONDE_MAX_SLOTS];
    *trained = (sonde_flow_carrier){0};
    mine.carrier = training ? trained : NULL;
    mine.generation = training ? atomic_load(&sonde.generation) : 0;
}

static bool barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool sonde_flow_threads_start(JNIEnv *env)
{
    size_t size = (sizeof *numbers + sizeof *places) << PLACES_BITS;
    sonde_virtual_find(env);
    if (!numbers && sonde_virtual_supported()) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        numbers = memory;
        places = (virtual_place *)(numbers + (1u << PLACES_BITS));
    }
    has_barrier = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    atomic_store(&active, true);
    return true;
}

void sonde_flow_threads_stop(void)
{
    if (!atomic_exchange(&active, false))
        return;
    if (has_barrier)
        barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    for (uint32_t i = 0; i < SONDE_MAX_SLOTS; i++)
        while (atomic_load(&carriers[i].busy))
            sched_yield();
    for (uint32_t i = 0; numbers && i < 1u << PLACES_BITS; i++)
        if (atomic_load(&numbers[i]))
            atomic_store(&numbers[i], 0);
}

void sonde_flow_threads_forked(void)
{
    atomic_store(&active, false);
    for (uint32_t i = 0; i < SONDE_MAX_SLOTS; i++)
        atomic_store(&carriers[i].busy, 0);
}
