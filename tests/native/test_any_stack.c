// Any code and any stack: whatever is there, looking for callers ends, and writes nowhere else.
#define _GNU_SOURCE
#include "core/signals/fault_guard.h"
#include "made_up_thread.h"

#include <limits.h>
#include <string.h>

// Where there is something to be found: ends of calls, beginnings of instructions.
#define MAX_KNOWN (2 * COMMITTED)
static uintptr_t known[MAX_KNOWN];
static unsigned known_count;
static uint64_t state = 20240607;

static uintptr_t somewhere(void) { return heap.memory.low + draw(&state) % COMMITTED; }

static void know(const void *pc)
{
    CHECK(known_count < MAX_KNOWN);
    known[known_count++] = (uintptr_t)pc;
}

static unsigned put_something(uint8_t *at)
{
    static const struct {
        const char *bytes;
        uint8_t length;
    } pieces[] = {
        {CODED("\xff\xd0")},
        {CODED("\x41\xff\xd3")},
        {CODED("\xff\x50\x08")},
        {CODED("\xff\x90\0\1\0\0")},
        {CODED("\x55\x48\x83\xec\x20")},
        {CODED("\x5d\xc3")},
        {CODED("\x89\x84\x24")},
        {CODED("\x89\x84\x24\0\0\0\xff")},
        {CODED(POLL)},
        {CODED(NEAR_POLL)},
        {CODED("\x48\x81\xec\0\1\0\0")},
        {CODED("\x0f")},
        {CODED("\x49")},
        {CODED("\x90")},
    };
    const unsigned count = sizeof pieces / sizeof *pieces;
    unsigned which = (unsigned)(draw(&state) % (count + 6));
    know(at);
    uintptr_t end;
    if (which < count)
        end = put(at, pieces[which].bytes, pieces[which].length);
    else if (which < count + 4)
        end = put_call(at, (void *)somewhere());
    else
        end = put_far_call(at, (void *)somewhere());
    know((void *)end);
    return (unsigned)(end - (uintptr_t)at);
}

// All of the heap: blobs of any size, what is known of them as it may be while it changes.
static void make_anything(void)
{
    static const char *const names[] = {METHOD, METHOD, METHOD,         "StubRoutines (1)",
                                        NULL,   "",     (const char *)8};
    static const int32_t sizes[] = {0, 1, 2, 3, 5, 9, 9, 30, -1, INT_MIN, INT_MAX, 70000};
    uint8_t *memory = (uint8_t *)heap.memory.low;
    known_count = 0;
    for (unsigned i = 0; i < COMMITTED - 16;)
        i += put_something(memory + i) + (draw(&state) % 8 == 0);
    // What an end cuts off.
    memcpy(memory + COMMITTED - 3, "\x89\x84\x24", 3);
    know(memory + COMMITTED - 3);
    for (unsigned i = 0; i < SEGMENTS; i++) {
        uint64_t what = draw(&state) % 16;
        map[i] = what == 0 ? FREE : what == 1 ? (uint8_t)draw(&state) : what < 6 ? 0 : 1;
        if (i && map[i] == 1 && map[i - 1] < 200)
            map[i] = (uint8_t)(map[i - 1] + 1);
        if (!map[i])
            put_head(i, names[draw(&state) % (sizeof names / sizeof *names)],
                     sizes[draw(&state) % (sizeof sizes / sizeof *sizes)]);
    }
    // So that the end is a part of something.
    map[SEGMENTS - 1] = 0;
    put_head(SEGMENTS - 1, METHOD, 5);
}

static uintptr_t any_word(void)
{
    uint64_t number = draw(&state);
    switch (draw(&state) % 10) {
    case 0:
    case 1:
        return known[number % known_count];
    case 2:
        return somewhere();
    case 3:
        return heap.memory.high + number % COMMITTED;
    case 4:
        return (uintptr_t)interpreter + number % (8 * SEGMENT);
    case 5:
    case 6:
        return (uintptr_t)(stack + number % WORDS);
    case 7:
        return (uintptr_t)vm_function;
    case 8:
        return number % 64;
    default:
        return number;
    }
}

typedef struct {
    bool in_java, below;
    sonde_places found;
    uint8_t after[64];
} job;

static void find_anything(void *arg)
{
    job *j = arg;
    const greg_t *registers = context.uc_mcontext.gregs;
    if (j->below)
        sonde_find_places_below(&(sonde_place){(uintptr_t)registers[REG_RIP],
                                               (uintptr_t)registers[REG_RBP],
                                               (const uintptr_t *)registers[REG_RSP]},
                                &j->found);
    else
        sonde_find_places(&context, j->in_java, &j->found);
}

static void survives_anything(void)
{
    unsigned faults = 0, walkable = 0, any = 0, most = 0;
    const unsigned room = sizeof((sonde_places *)0)->places / sizeof(sonde_place);
    sonde_guard_install();
    for (unsigned i = 0; i < 200000; i++) {
        if (i % 1000 == 0) {
            make_anything();
            for (unsigned k = 0; k < WORDS; k++)
                stack[k] = any_word();
        }
        // Now and then up to the very end, beyond which nothing can be read.
        unsigned from = (unsigned)(draw(&state) % (i % 8 ? WORDS - ABOVE : WORDS));
        for (unsigned k = from; k < from + 48 && k < WORDS; k++)
            stack[k] = any_word();
        greg_t *registers = context.uc_mcontext.gregs;
        registers[REG_RIP] =
            (greg_t)(draw(&state) % 4 ? known[draw(&state) % known_count] : any_word());
        registers[REG_RSP] = (greg_t)(stack + from);
        registers[REG_RBP] = (greg_t)any_word();
        job j = {.in_java = draw(&state) % 2, .below = draw(&state) % 8 == 0};
        memset(j.after, 0x5a, sizeof j.after);
        bool ended = sonde_guard_run(find_anything, &j);
        CHECK(j.found.count <= room);
        for (unsigned k = 0; k < sizeof j.after; k++)
            CHECK(j.after[k] == 0x5a);
        faults += !ended;
        if (!ended)
            continue;
        walkable += j.found.walkable;
        any += j.found.count && !j.found.walkable;
        most += j.found.count == room;
        CHECK(!j.found.walkable || j.found.count == 1);
        for (unsigned k = 0; k < j.found.count; k++)
            CHECK(j.found.places[k].sp > stack + from && !((uintptr_t)j.found.places[k].sp & 7));
    }
    sonde_guard_remove();
    printf("%u faults, %u walkable, %u with places, %u with all\n", faults, walkable, any, most);
    // All of it has happened.
    CHECK(faults > 100 && walkable > 100 && any > 100 && most > 0);
}

int main(void)
{
    make_vm();
    make_stack();
    RUN(survives_anything);
    return 0;
}
