// Which callers were written: never one that was not, and all again in the next session.
#include "check.h"
#include "core/session/caller_chain.h"
#include "core/session/session.h"

static uint64_t frame(uint64_t code, uint64_t instr) { return code << SONDE_INSTR_BITS | instr; }

static void the_last_of_a_stack_has_no_caller_written(void)
{
    const uint64_t pairs[] = {frame(1, 5), 300, frame(2, 6), 200, frame(3, 7), 100};
    for (int i = 0; i < 6; i += 2)
        CHECK(!sonde_chain_is_known(pairs[i], pairs[i + 1]));
    sonde_chain_add(pairs, 6);
    CHECK(sonde_chain_is_known(pairs[0], 300));
    CHECK(sonde_chain_is_known(pairs[2], 200));
    CHECK(!sonde_chain_is_known(pairs[4], 100));
}

static void where_in_the_function_does_not_matter_but_how_deep_does(void)
{
    CHECK(sonde_chain_is_known(frame(1, 99), 300));
    CHECK(!sonde_chain_is_known(frame(1, 5), 308));
    CHECK(!sonde_chain_is_known(frame(9, 5), 300));
}

static void nothing_and_one_frame_add_nothing(void)
{
    const uint64_t pair[] = {frame(7, 1), 700};
    sonde_chain_add(NULL, 0);
    sonde_chain_add(pair, 2);
    CHECK(!sonde_chain_is_known(pair[0], 700));
}

static void another_session_knows_nothing(void)
{
    atomic_fetch_add(&sonde.generation, 1);
    CHECK(!sonde_chain_is_known(frame(1, 5), 300));
}

// Many more than there is room for: some are forgotten and written again, none is made up.
static void what_was_not_written_is_not_known(void)
{
    for (uint64_t code = 1; code <= 100000; code++) {
        const uint64_t pairs[] = {frame(code, 1), 16 * code, frame(1, 1), 0};
        sonde_chain_add(pairs, 4);
        CHECK(sonde_chain_is_known(pairs[0], pairs[1]));
        CHECK(!sonde_chain_is_known(pairs[0], pairs[1] + 8));
    }
}

int main(void)
{
    RUN(the_last_of_a_stack_has_no_caller_written);
    RUN(where_in_the_function_does_not_matter_but_how_deep_does);
    RUN(nothing_and_one_frame_add_nothing);
    RUN(another_session_knows_nothing);
    RUN(what_was_not_written_is_not_known);
    return 0;
}
