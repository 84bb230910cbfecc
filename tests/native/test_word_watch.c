// Words watched by debug registers. Where the kernel refuses them there is nothing to test.
#include "check.h"
#include "core/base/word_watch.h"

#include <unistd.h>

static volatile uint64_t words[4];

static uintptr_t at(int number) { return (uintptr_t)&words[number]; }

static void sees_writes(void)
{
    sonde_word_watch watch = {0};
    CHECK(sonde_word_watch_move(&watch, at(0)));
    words[1] = 1;
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_UNWRITTEN);
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(1)), SONDE_WORD_UNKNOWN);
    for (int i = 0; i < 1000; i++)
        words[0] = 0; // the value does not matter
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_WRITTEN);
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_WRITTEN);
    sonde_word_watch_close(&watch);
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_UNKNOWN);
}

// Whether it was written where it was before, or not: it is armed again.
static void moves(void)
{
    sonde_word_watch watch = {0};
    for (int round = 0; round < 200; round++) {
        int here = round % 4, before = (round + 3) % 4;
        CHECK(sonde_word_watch_move(&watch, at(here)));
        words[before] = 1;
        CHECK_EQUAL(sonde_word_watch_state(&watch, at(here)), SONDE_WORD_UNWRITTEN);
        if (round % 3 == 0)
            continue;
        words[here] = 1;
        if (round % 3 == 1) // else nobody has looked
            CHECK_EQUAL(sonde_word_watch_state(&watch, at(here)), SONDE_WORD_WRITTEN);
    }
    sonde_word_watch_close(&watch);
}

static void stays_where_it_is(void)
{
    sonde_word_watch watch = {0};
    CHECK(sonde_word_watch_move(&watch, at(0)));
    CHECK(sonde_word_watch_move(&watch, at(0)));
    words[0] = 1;
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_WRITTEN);
    CHECK(sonde_word_watch_move(&watch, at(0)));
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_UNWRITTEN);
    words[0] = 1; // nobody has looked yet
    CHECK(sonde_word_watch_move(&watch, at(0)));
    CHECK_EQUAL(sonde_word_watch_state(&watch, at(0)), SONDE_WORD_UNWRITTEN);
    sonde_word_watch_close(&watch);
}

// The program closes descriptors that it does not know, and gets their numbers for its own files.
static void leaves_descriptors_of_others_alone(void)
{
    sonde_word_watch watch = {0};
    CHECK(sonde_word_watch_move(&watch, at(0)));
    int number = watch.descriptor - 1;
    close(number);
    CHECK_EQUAL(dup(0), number);
    CHECK(!sonde_word_watch_move(&watch, at(1)));
    sonde_word_watch_close(&watch);
    CHECK_EQUAL(close(number), 0);
}

int main(void)
{
    sonde_word_watch watch = {0};
    if (!sonde_word_watch_move(&watch, at(0)))
        return 77;
    sonde_word_watch_close(&watch);
    RUN(sees_writes);
    RUN(moves);
    RUN(stays_where_it_is);
    RUN(leaves_descriptors_of_others_alone);
    return 0;
}
