// The calling context trees of threads, and what each context took.
//
// Every hook reads the metric first and last, so the time between two hooks is the program's and
// what the interpreter took to call them. That is learnt from functions of ours, for each sequence
// of three kinds of events (flow_costs.h), and kept as the overhead of the context.
//
// A tree belongs to one thread at a time. All of them share arena and table, which need no lock.
#ifndef SONDE_CORE_FLOW_TREE_H
#define SONDE_CORE_FLOW_TREE_H

#include "core/flow/flow_memory.h"

#include <x86intrin.h>

// Kinds of events. FAR: the interpreter makes an object to report it, because the instruction lies
// far behind the function's beginning.
enum {
    SONDE_FLOW_BEGIN = 0, // the thread is not known before
    SONDE_FLOW_START,
    SONDE_FLOW_RESUME,
    SONDE_FLOW_THROW,
    SONDE_FLOW_RETURN,
    SONDE_FLOW_RETURN_FAR,
    SONDE_FLOW_YIELD,
    SONDE_FLOW_YIELD_FAR,
    SONDE_FLOW_UNWIND,
    SONDE_FLOW_C_CALL,
    SONDE_FLOW_C_CALL_FAR,
    SONDE_FLOW_C_RETURN,
    SONDE_FLOW_C_RETURN_FAR,
    SONDE_FLOW_C_RAISE,
    SONDE_FLOW_OTHER_CALL, // of a function that reports its own beginning
    SONDE_FLOW_OTHER_CALL_FAR,
    SONDE_FLOW_KINDS = 16,
};
#define SONDE_FLOW_SEQUENCES (SONDE_FLOW_KINDS * SONDE_FLOW_KINDS * SONDE_FLOW_KINDS)

// A cost that was not learnt for its sequence, but for one like it.
#define SONDE_FLOW_ESTIMATED (1u << 31)

// A time that long may include that another thread was on the processor: the thread's CPU clock
// shows it.
#define SONDE_FLOW_GAP 50000u

typedef struct {
    uint32_t run; // of sonde_flow; else the thread is not in this tree
    uint32_t root, cur;
    uint32_t over;      // calls deeper than the tree, which had no room for them
    uint32_t kinds;     // the last two
    uint32_t inside;    // calls that are recorded, where others are not
    uint32_t span;      // in which everything is recorded
    uint64_t left;      // the metric at the end of the last hook
    uint64_t count;     // of instructions
    uint64_t tick, cpu; // when both clocks were compared
} sonde_flow_thread;

typedef struct {
    uint32_t run; // 0: nothing is recorded
    uint32_t metric;
    bool events; // are listed
    sonde_flow_header *header;
    sonde_flow_node *nodes;
    uint32_t capacity, mask;
    _Atomic uint32_t *places; // a table of nodes by parent and key
    size_t places_mapped;     // bytes
    uint32_t *cost;           // by sequence: ticks that are overhead; see SONDE_FLOW_ESTIMATED
    uint64_t *least;          // likewise: the smallest
    uint64_t *took, *seen;    // where it is learnt: the sum of times, and how many; or NULL
    uint64_t (*describe)(uint64_t key);
    double inside; // the share of an event's cost that lies in the function, not in its caller
    void (*hold)(uint64_t key);
} sonde_flow_run;

extern sonde_flow_run sonde_flow;

// A new run in the session's memory, or in one of `size` bytes at `at`. False: no memory.
bool sonde_flow_begin(sonde_flow_header *at, size_t size);
// Ends it; `release` gets every key that was held.
void sonde_flow_end(void (*release)(uint64_t key));
// In a forked child, which has none of the memory.
void sonde_flow_forget(void);

// A tree for the thread. False: no room.
bool sonde_flow_thread_begin(sonde_flow_thread *thread);
// A call that is under way; outermost first.
void sonde_flow_preexisting(sonde_flow_thread *thread, uint64_t key);

// The rest of these for sonde_flow_enter and so on.
uint32_t sonde_flow_child(sonde_flow_thread *thread, uint64_t key);
uint64_t sonde_flow_on_cpu(sonde_flow_thread *thread, uint64_t ticks, uint64_t now);
void sonde_flow_list(sonde_flow_thread *thread, uint32_t node, uint64_t kind, uint64_t measured);
void sonde_flow_leave_other(sonde_flow_thread *thread, uint64_t key);

// What the kernel has counted for the calling thread.
uint64_t sonde_flow_usage(uint32_t metric);

static inline uint64_t sonde_flow_now(const sonde_flow_thread *thread)
{
    uint32_t metric = sonde_flow.metric;
    if (__builtin_expect(metric < SONDE_FLOW_INSTRUCTIONS, 1))
        return __rdtsc();
    return metric == SONDE_FLOW_INSTRUCTIONS ? thread->count : sonde_flow_usage(metric);
}

// Charges the current context with what was since the last event.
static inline uint64_t sonde_flow_charge(sonde_flow_thread *thread, uint32_t kind, uint64_t now)
{
    uint64_t took = now - thread->left;
    if (__builtin_expect(took > SONDE_FLOW_GAP, 0) && sonde_flow.metric == SONDE_FLOW_CPU)
        took = sonde_flow_on_cpu(thread, took, now);
    uint32_t sequence = (thread->kinds << 4 | kind) & (SONDE_FLOW_SEQUENCES - 1);
    thread->kinds = sequence;
    if (__builtin_expect(sonde_flow.took != NULL, 0)) {
        sonde_flow.took[sequence] += took;
        sonde_flow.seen[sequence]++;
        if (took < sonde_flow.least[sequence])
            sonde_flow.least[sequence] = took;
    }
    sonde_flow_node *node = &sonde_flow.nodes[thread->cur];
    uint32_t cost = sonde_flow.cost[sequence];
    if (__builtin_expect(cost & SONDE_FLOW_ESTIMATED, 0)) {
        cost &= ~SONDE_FLOW_ESTIMATED;
        atomic_fetch_add_explicit(&sonde_flow.header->unlearnt, 1, memory_order_relaxed);
    }
    node->measured += took;
    node->overhead += cost < took ? cost : took;
    return took;
}

static inline void sonde_flow_enter(sonde_flow_thread *thread, uint64_t key, uint32_t kind,
                                    uint64_t now)
{
    uint64_t took = sonde_flow_charge(thread, kind, now);
    if (__builtin_expect(thread->over, 0)) {
        thread->over++;
    } else {
        uint32_t child = sonde_flow.nodes[thread->cur].last;
        if (!child || sonde_flow.nodes[child].key != key || !sonde_flow.nodes[child].id)
            child = sonde_flow_child(thread, key);
        if (child) {
            sonde_flow_node *node = &sonde_flow.nodes[child];
            if (kind == SONDE_FLOW_RESUME || kind == SONDE_FLOW_THROW)
                node->resumptions++;
            else
                node->calls++;
            thread->cur = child;
        }
    }
    if (__builtin_expect(sonde_flow.events, 0))
        sonde_flow_list(thread, thread->cur, kind, took);
    thread->left = sonde_flow_now(thread);
}

static inline void sonde_flow_leave(sonde_flow_thread *thread, uint64_t key, uint32_t kind,
                                    uint64_t now)
{
    uint64_t took = sonde_flow_charge(thread, kind, now);
    if (__builtin_expect(sonde_flow.events, 0))
        sonde_flow_list(thread, thread->cur, kind, took);
    sonde_flow_node *node = &sonde_flow.nodes[thread->cur];
    if (__builtin_expect(thread->over, 0)) {
        thread->over--;
    } else if (node->key == key) {
        node->exceptions += kind == SONDE_FLOW_UNWIND || kind == SONDE_FLOW_C_RAISE;
        thread->cur = node->parent;
    } else {
        sonde_flow_leave_other(thread, key);
    }
    thread->left = sonde_flow_now(thread);
}

// An event that changes no context.
static inline void sonde_flow_pass(sonde_flow_thread *thread, uint32_t kind, uint64_t now)
{
    sonde_flow_charge(thread, kind, now);
    thread->left = sonde_flow_now(thread);
}

#endif
