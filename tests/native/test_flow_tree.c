// The tree of calls: against a plain model, in memory of its exact size, and when that is full.
#include "check.h"
#include "core/flow/flow_costs.h"
#include "core/flow/flow_tree.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key(uint64_t n) { return 0x10000 + n * 16; }

static sonde_flow_thread thread;
static uint64_t held, released;

static void hold(uint64_t k) { held += k; }
static void release(uint64_t k) { released += k; }
static uint64_t describe(uint64_t k) { return k; }

static size_t size_of(uint32_t nodes)
{
    return SONDE_FLOW_NODES_AT + (size_t)nodes * sizeof(sonde_flow_node);
}

static sonde_flow_header *begin(uint32_t nodes, uint32_t flags)
{
    sonde_flow_header *header = aligned_alloc(64, size_of(nodes));
    memset(header, 0, size_of(nodes));
    header->metric = SONDE_FLOW_INSTRUCTIONS; // the metric is what the test says
    header->capacity = nodes;
    header->flags = flags;
    CHECK(sonde_flow_begin(header, size_of(nodes)));
    sonde_flow.hold = hold;
    sonde_flow.describe = NULL;
    held = released = 0;
    thread = (sonde_flow_thread){0};
    CHECK(sonde_flow_thread_begin(&thread));
    return header;
}

static void end(sonde_flow_header *header)
{
    sonde_flow_end(release);
    CHECK_EQUAL(held, released);
    free(header);
}

static void enter(uint64_t function, uint32_t kind)
{
    sonde_flow_enter(&thread, key(function), kind, thread.count);
}

static void leave(uint64_t function, uint32_t kind)
{
    sonde_flow_leave(&thread, key(function), kind, thread.count);
}

static sonde_flow_node *at(uint64_t function)
{
    for (uint32_t n = 1 + SONDE_FLOW_ROOT_NODES; n < sonde_flow.header->used; n++)
        if (sonde_flow.nodes[n].key == key(function))
            return &sonde_flow.nodes[n];
    return NULL;
}

static void each_part_is_charged_to_who_ran(void)
{
    sonde_flow_header *header = begin(200, 0);
    sonde_flow_costs_reset();
    enter(1, SONDE_FLOW_START);
    thread.count += 5;
    enter(2, SONDE_FLOW_START);
    thread.count += 7;
    leave(2, SONDE_FLOW_YIELD);
    thread.count += 1;
    enter(2, SONDE_FLOW_RESUME);
    thread.count += 2;
    leave(2, SONDE_FLOW_UNWIND);
    leave(1, SONDE_FLOW_RETURN);
    CHECK_EQUAL(at(1)->measured, 6);
    CHECK_EQUAL(at(2)->measured, 9);
    CHECK_EQUAL(at(2)->calls, 1);
    CHECK_EQUAL(at(2)->resumptions, 1);
    CHECK_EQUAL(at(2)->exceptions, 1);
    CHECK_EQUAL(at(1)->exceptions, 0);
    CHECK_EQUAL(thread.cur, thread.root);
    // An exit of what was never entered changes nothing; one further out leaves all within.
    leave(9, SONDE_FLOW_RETURN);
    enter(1, SONDE_FLOW_START);
    enter(2, SONDE_FLOW_START);
    leave(1, SONDE_FLOW_RETURN);
    CHECK_EQUAL(thread.cur, thread.root);
    end(header);
}

static void as_a_model_has_it(void)
{
    enum { FUNCTIONS = 6, DEEP = 5, STEPS = 200000 };
    sonde_flow_header *header = begin(20000, 0);
    uint64_t seed = 11, entries = 0, ticks = 0;
    uint64_t stack[DEEP];
    int depth = 0;
    for (int i = 0; i < STEPS; i++) {
        uint64_t n = draw(&seed) % (2 * FUNCTIONS);
        thread.count += n;
        ticks += n;
        if (depth < DEEP && (n < FUNCTIONS || !depth)) {
            stack[depth++] = n;
            enter(n, SONDE_FLOW_START);
            entries++;
        } else {
            leave(stack[--depth], SONDE_FLOW_RETURN);
        }
    }
    uint64_t calls = 0, measured = sonde_flow.nodes[thread.root].measured;
    for (uint32_t n = 1 + SONDE_FLOW_ROOT_NODES; n < header->used; n++) {
        calls += sonde_flow.nodes[n].calls;
        measured += sonde_flow.nodes[n].measured;
    }
    CHECK_EQUAL(calls, entries);
    CHECK_EQUAL(measured, ticks);
    CHECK_EQUAL(header->lost_calls, 0);
    end(header);
}

static void calls_without_room_count_for_their_caller(void)
{
    sonde_flow_header *header = begin(1 + 2 * SONDE_FLOW_ROOT_NODES, 0);
    uint64_t deep = 3 * SONDE_FLOW_ROOT_NODES;
    for (uint64_t n = 0; n < deep; n++) {
        enter(n, SONDE_FLOW_START);
        thread.count++;
    }
    CHECK(thread.over);
    for (uint64_t n = deep; n--;)
        leave(n, SONDE_FLOW_RETURN);
    CHECK_EQUAL(thread.cur, thread.root);
    CHECK_EQUAL(thread.over, 0);
    CHECK_EQUAL(header->used, sonde_flow.capacity);
    uint64_t measured = 0;
    for (uint32_t n = 1 + SONDE_FLOW_ROOT_NODES; n < header->used; n++)
        measured += sonde_flow.nodes[n].measured;
    CHECK_EQUAL(measured, deep);
    CHECK_EQUAL(header->lost_calls, 1); // those within it are not asked for
    sonde_flow.describe = describe;
    sonde_flow_thread another = {0};
    CHECK(!sonde_flow_thread_begin(&another));
    end(header);
}

static void events_without_a_session_are_counted_as_lost(void)
{
    sonde_flow_header *header = begin(200, SONDE_FLOW_EVENTS);
    for (int i = 0; i < 100; i++) {
        enter(1, SONDE_FLOW_START);
        leave(1, SONDE_FLOW_RETURN);
    }
    CHECK_EQUAL(header->lost_events, 3 * SONDE_FLOW_PENDING);
    CHECK_EQUAL(sonde_flow.nodes[thread.root].resumptions, 200 - 3 * SONDE_FLOW_PENDING);
    end(header);
}

static void pattern(uint64_t more)
{
    sonde_flow_costs_watch();
    for (int i = 0; i < 1000; i++) {
        enter(1, SONDE_FLOW_START);
        thread.count += 30 + more;
        leave(1, SONDE_FLOW_RETURN);
        thread.count += 50 + more;
    }
    sonde_flow_costs_watched();
}

static void the_cost_is_what_the_fastest_run_takes_more(void)
{
    sonde_flow_header *header = begin(200, 0);
    sonde_flow_costs_reset();
    sonde_flow_costs_begin();
    pattern(10);
    pattern(0);
    pattern(70);
    // Without being observed, a pass through the loop takes 60: two events cost 20.
    sonde_flow_costs_learn(1000 * 60, 500);
    sonde_flow_costs_complete();
    sonde_flow_node *node = at(1);
    uint64_t before = node->overhead;
    enter(1, SONDE_FLOW_START);
    thread.count += 100;
    leave(1, SONDE_FLOW_RETURN);
    uint64_t cost = node->overhead - before;
    CHECK(cost >= 9 && cost <= 11);
    CHECK_EQUAL(header->unlearnt, 0);
    enter(1, SONDE_FLOW_START);
    thread.count += 100;
    leave(1, SONDE_FLOW_UNWIND);
    CHECK(header->unlearnt > 0);
    end(header);
}

int main(void)
{
    RUN(each_part_is_charged_to_who_ran);
    RUN(as_a_model_has_it);
    RUN(calls_without_room_count_for_their_caller);
    RUN(events_without_a_session_are_counted_as_lost);
    RUN(the_cost_is_what_the_fastest_run_takes_more);
    return 0;
}
