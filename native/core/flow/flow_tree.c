#define _GNU_SOURCE
#include "core/flow/flow_tree.h"

#include "core/base/clock.h"
#include "core/session/session.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

sonde_flow_run sonde_flow;

static uint32_t last_run;
static uint32_t costs[SONDE_FLOW_SEQUENCES];

static uint32_t places_of(uint32_t capacity)
{
    uint32_t size = 1024;
    while (size < 2 * capacity)
        size *= 2;
    return size;
}

bool sonde_flow_begin(sonde_flow_header *at, size_t size)
{
    if (size < SONDE_FLOW_NODES_AT + 2 * SONDE_FLOW_ROOT_NODES * sizeof(sonde_flow_node))
        return false;
    uint64_t fit = (size - SONDE_FLOW_NODES_AT) / sizeof(sonde_flow_node);
    uint32_t capacity = fit < at->capacity ? (uint32_t)fit : at->capacity;
    uint32_t places = places_of(capacity);
    size_t mapped = places * sizeof(uint32_t);
    void *table = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    if (++last_run == 0)
        last_run = 1;
    sonde_flow.header = at;
    sonde_flow.nodes = (sonde_flow_node *)((uint8_t *)at + SONDE_FLOW_NODES_AT);
    sonde_flow.capacity = capacity;
    sonde_flow.mask = places - 1;
    sonde_flow.places = table;
    sonde_flow.places_mapped = mapped;
    sonde_flow.cost = costs;
    sonde_flow.took = sonde_flow.seen = NULL;
    sonde_flow.inside = 0.5;
    sonde_flow.metric = at->metric;
    sonde_flow.events = at->flags & SONDE_FLOW_EVENTS;
    atomic_store(&at->used, 1);
    sonde_flow.run = last_run;
    return true;
}

// The recorder may read a root's pending events, which are no nodes, as such: they have no key.
static bool is_node(const sonde_flow_node *node) { return node->key && node->parent; }

void sonde_flow_end(void (*release)(uint64_t key))
{
    if (!sonde_flow.run)
        return;
    sonde_flow.run = 0;
    uint32_t used = atomic_load(&sonde_flow.header->used);
    for (uint32_t place = 0; place <= sonde_flow.mask && release; place++) {
        uint32_t at = sonde_flow.places[place];
        if (at && at < used && is_node(&sonde_flow.nodes[at]))
            release(sonde_flow.nodes[at].key);
    }
    munmap(sonde_flow.places, sonde_flow.places_mapped);
    sonde_flow.places = NULL;
}

void sonde_flow_forget(void)
{
    if (!sonde_flow.run)
        return;
    sonde_flow.run = 0;
    munmap(sonde_flow.places, sonde_flow.places_mapped);
    sonde_flow.places = NULL;
}

// `count` nodes in one piece; 0: there is no room.
static uint32_t allocate(uint32_t count)
{
    uint32_t at = atomic_load_explicit(&sonde_flow.header->used, memory_order_relaxed);
    do {
        if (count > sonde_flow.capacity - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&sonde_flow.header->used, &at, at + count));
    memset(&sonde_flow.nodes[at], 0, count * sizeof(sonde_flow_node));
    return at;
}

// ---- threads

static bool write_record(uint32_t root, const sonde_flow_event *events, uint32_t count)
{
    sonde_thread *me = sonde_enter();
    if (!me)
        return false;
    size_t size = sizeof(sonde_rec_flow) + count * sizeof *events;
    sonde_rec_flow *out = sonde_ring_reserve(&me->ring, size);
    if (out) {
        *out = (sonde_rec_flow){{(uint32_t)size, SONDE_REC_FLOW, 0, 0}, root, count};
        if (count)
            memcpy(out->events, events, count * sizeof *events);
        sonde_ring_commit(&me->ring, size);
    }
    sonde_leave(me);
    return out;
}

bool sonde_flow_thread_begin(sonde_flow_thread *thread)
{
    uint32_t root = allocate(SONDE_FLOW_ROOT_NODES);
    if (!root || (sonde_flow.describe && !write_record(root, NULL, 0)))
        return false;
    uint64_t count = thread->count;
    *thread = (sonde_flow_thread){.root = root, .cur = root, .count = count};
    thread->tick = __rdtsc();
    thread->cpu = sonde_thread_cpu();
    thread->left = sonde_flow_now(thread);
    thread->run = sonde_flow.run;
    return true;
}

void sonde_flow_preexisting(sonde_flow_thread *thread, uint64_t key)
{
    if (thread->over) {
        thread->over++;
        return;
    }
    uint32_t child = sonde_flow_child(thread, key);
    if (child) {
        sonde_flow.nodes[child].preexisting++;
        thread->cur = child;
    }
}

uint64_t sonde_flow_on_cpu(sonde_flow_thread *thread, uint64_t ticks, uint64_t now)
{
    double per_tick = sonde_flow.header->ns_per_tick;
    uint64_t cpu = sonde_thread_cpu();
    double off = (double)(now - thread->tick) - (double)(cpu - thread->cpu) / per_tick;
    thread->tick = now;
    thread->cpu = cpu;
    if (off <= 0 || per_tick <= 0)
        return ticks;
    return off < (double)ticks ? ticks - (uint64_t)off : 0;
}

uint64_t sonde_flow_usage(uint32_t metric)
{
    struct rusage used;
    if (getrusage(RUSAGE_THREAD, &used))
        return 0;
    return metric == SONDE_FLOW_FAULTS ? (uint64_t)used.ru_minflt + (uint64_t)used.ru_majflt
                                       : (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
}

// ---- nodes

static uint32_t place_for(uint32_t parent, uint64_t key, uint32_t step)
{
    uint64_t mixed = (key >> 4 ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    return ((uint32_t)mixed + step) & sonde_flow.mask;
}

uint32_t sonde_flow_child(sonde_flow_thread *thread, uint64_t key)
{
    uint32_t parent = thread->cur, step = 0, at, made = 0;
    sonde_flow_node *nodes = sonde_flow.nodes;
    for (;;) {
        _Atomic uint32_t *place = &sonde_flow.places[place_for(parent, key, step)];
        at = atomic_load_explicit(place, memory_order_acquire);
        if (at && nodes[at].key == key && nodes[at].parent == parent)
            break;
        if (at) {
            step++;
            continue;
        }
        if (!made && !(made = allocate(1))) {
            atomic_fetch_add(&sonde_flow.header->lost_calls, 1);
            thread->over++;
            return 0;
        }
        nodes[made].parent = parent;
        nodes[made].key = key;
        // Another thread may take the place meanwhile, for a node of its own tree.
        if (!atomic_compare_exchange_strong(place, &at, made))
            continue;
        at = made;
        if (sonde_flow.hold)
            sonde_flow.hold(key);
        break;
    }
    if (!nodes[at].id)
        nodes[at].id = sonde_flow.describe ? sonde_flow.describe(key) : 1;
    nodes[parent].last = at;
    return at;
}

// The function that ends was entered further out, or before recording began.
void sonde_flow_leave_other(sonde_flow_thread *thread, uint64_t key)
{
    uint32_t at = thread->cur;
    while (at != thread->root && sonde_flow.nodes[at].key != key)
        at = sonde_flow.nodes[at].parent;
    if (at != thread->root)
        thread->cur = sonde_flow.nodes[at].parent;
}

// ---- events

static const uint8_t listed_as[SONDE_FLOW_KINDS] = {
    [SONDE_FLOW_START] = 1,       [SONDE_FLOW_C_CALL] = 1,     [SONDE_FLOW_C_CALL_FAR] = 1,
    [SONDE_FLOW_RETURN] = 2,      [SONDE_FLOW_RETURN_FAR] = 2, [SONDE_FLOW_C_RETURN] = 2,
    [SONDE_FLOW_YIELD] = 3,       [SONDE_FLOW_YIELD_FAR] = 3,  [SONDE_FLOW_RESUME] = 4,
    [SONDE_FLOW_THROW] = 5,       [SONDE_FLOW_UNWIND] = 6,     [SONDE_FLOW_C_RAISE] = 6,
    [SONDE_FLOW_C_RETURN_FAR] = 2};

void sonde_flow_list(sonde_flow_thread *thread, uint32_t node, uint64_t kind, uint64_t measured)
{
    sonde_flow_node *root = &sonde_flow.nodes[thread->root];
    sonde_flow_event *pending = (sonde_flow_event *)(root + 1);
    if (thread->over || !listed_as[kind])
        return;
    if (root->resumptions == SONDE_FLOW_PENDING) {
        if (!write_record(thread->root, pending, SONDE_FLOW_PENDING))
            atomic_fetch_add(&sonde_flow.header->lost_events, SONDE_FLOW_PENDING);
        root->resumptions = 0;
    }
    pending[root->resumptions++] =
        (sonde_flow_event){__rdtsc() << 4 | listed_as[kind], node,
                           measured < UINT32_MAX ? (uint32_t)measured : UINT32_MAX};
}
