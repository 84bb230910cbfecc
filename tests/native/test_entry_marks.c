// Activations told from each other: the calls of a thread are made up here, with what entries write
// below their frames. Debug registers are real, where the kernel allows them.
#define _GNU_SOURCE
#include "check.h"
#include "core/session/session.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/method_entries.h"
#include "hotspot/walk/entry_marks.h"

#include <string.h>

// ---- code

#define METHODS 8u
#define CODE 64u
#define BELOW 0x14000u                   // as far as 20 pages
enum { MARKED_METHODS = 4, LEAVES = 6 }; // the rest are the interpreter's
#define INTERPRETER ((uintptr_t)0x1000)

static uint8_t code[METHODS][CODE];
static int32_t numbers[METHODS];
static bool in_loop[METHODS];
static uint64_t entered[METHODS];

static bool is_interpreted(unsigned method) { return method >= LEAVES; }
static bool stores(unsigned method) { return method < MARKED_METHODS; }

static uintptr_t pc_in(unsigned method)
{
    return is_interpreted(method) ? INTERPRETER : (uintptr_t)&code[method][CODE / 2];
}

bool sonde_is_interpreter(uintptr_t pc) { return pc == INTERPRETER; }

bool sonde_blob_at(uintptr_t pc, sonde_blob *out)
{
    unsigned method = (unsigned)((pc - (uintptr_t)code) / CODE);
    if (method >= METHODS)
        return false;
    uintptr_t from = (uintptr_t)code[method];
    *out = (sonde_blob){
        .from = from, .is_method = true, .number = numbers[method], .code_to = from + CODE};
    return true;
}

bool sonde_is_entered_in_loop(const sonde_blob *of)
{
    return in_loop[(of->from - (uintptr_t)code) / CODE];
}

uintptr_t sonde_interpreted_method(uintptr_t fp) { return fp; }
uint64_t sonde_method_entries(uintptr_t method) { return entered[method]; }

// ---- a thread

#define WORDS 65536u
static uintptr_t stack[WORDS];
#define MAX_COUNT 40u
typedef struct {
    unsigned method;
    uint64_t activation;
    uintptr_t *slot; // of its return address
} call;
static call calls[MAX_COUNT];
static unsigned depth;
static uint64_t activations;

static uintptr_t *top(void) { return depth ? calls[depth - 1].slot : stack + WORDS - 8; }

// What it calls lies 4 words below, in which there is its frame pointer, too.
static void enter(unsigned method)
{
    uintptr_t *slot = top() - 4;
    unsigned caller = depth ? calls[depth - 1].method : 0;
    slot[0] = depth ? pc_in(caller) : 0;
    slot[-1] = caller;
    if (stores(method))
        *(uint32_t *)((uintptr_t)slot - BELOW) = (uint32_t)activations;
    entered[method] += is_interpreted(method);
    calls[depth++] = (call){method, ++activations, slot};
}

uint64_t sonde_retraced_word(const sonde_retraced *by, uint32_t word)
{
    (void)by;
    return (uint64_t)(calls[word].method + 1) << SONDE_INSTR_BITS;
}
uintptr_t sonde_retraced_slot(const sonde_retraced *by, uint32_t word)
{
    (void)by;
    return word + 1 < depth ? (uintptr_t)calls[word + 1].slot : 0;
}
uintptr_t sonde_retraced_outermost(const sonde_retraced *by)
{
    (void)by;
    return (uintptr_t)calls[0].slot;
}

static sonde_thread *thread;
static call last[MAX_COUNT];
static unsigned last_depth;

static sonde_event sample(void)
{
    sonde_retraced by = {.thread = thread, .depth = depth, .start.pc = 0};
    by.start.pc = pc_in(calls[depth - 1].method);
    sonde_event event = {.activations = true};
    sonde_entry_marks_sample(&by, (uintptr_t)(top() - 16), &event);
    return event;
}

static unsigned truly_same(void)
{
    unsigned same = 0;
    while (same < depth && same < last_depth && last[same].activation == calls[same].activation)
        same++;
    return same;
}

static void keep(void)
{
    memcpy(last, calls, sizeof last);
    last_depth = depth;
}

// Is the answer right, if there is one?
static bool checked_sample(void)
{
    sonde_event event = sample();
    bool known = event.flags & SONDE_ACTIVATIONS;
    if (known)
        CHECK_EQUAL(event.same, truly_same());
    keep();
    return known;
}

static void begin(void)
{
    memset(stack, 0, sizeof stack);
    memset(code, 0x90, sizeof code);
    for (unsigned i = 0; i < METHODS; i++) {
        numbers[i] = (int32_t)i + 1;
        in_loop[i] = false;
        entered[i] = 1;
        if (stores(i)) // mov [rsp - BELOW], eax
            memcpy(code[i] + 8, "\x89\x84\x24\x00\xc0\xfe\xff", 7);
    }
    depth = last_depth = 0;
    thread->activations_known = 0;
}

// ---- what is known

static void compiled_methods_are_known(void)
{
    begin();
    uint64_t state = 11;
    enter(0);
    checked_sample();
    for (int round = 0; round < 20000; round++) {
        unsigned pops = (unsigned)(draw(&state) % 4);
        depth -= pops < depth - 1 ? pops : depth - 1;
        for (unsigned pushes = (unsigned)(draw(&state) % 5); pushes && depth < MAX_COUNT; pushes--)
            enter((unsigned)(draw(&state) % MARKED_METHODS));
        CHECK(checked_sample());
    }
}

// Leaves, which nothing calls from, and methods that the interpreter enters also elsewhere.
static void whatever_is_stated_is_right(void)
{
    begin();
    uint64_t state = 7;
    unsigned known = 0, rounds = 20000;
    enter(0);
    checked_sample();
    for (unsigned round = 0; round < rounds; round++) {
        unsigned pops = (unsigned)(draw(&state) % 3);
        depth -= pops < depth - 1 ? pops : depth - 1;
        while (depth > 1 && calls[depth - 1].method >= MARKED_METHODS &&
               calls[depth - 1].method < LEAVES && draw(&state) % 2)
            depth--;
        bool leaf = calls[depth - 1].method >= MARKED_METHODS && calls[depth - 1].method < LEAVES;
        for (unsigned n = leaf ? 0 : (unsigned)(draw(&state) % 4); n && depth < MAX_COUNT - 1; n--)
            enter(draw(&state) % 4 ? (unsigned)(draw(&state) % MARKED_METHODS)
                                   : LEAVES + (unsigned)(draw(&state) % 2));
        if (!leaf && (is_interpreted(calls[depth - 1].method) || draw(&state) % 2))
            enter(MARKED_METHODS + (unsigned)(draw(&state) % 2));
        known += checked_sample();
    }
    sonde_word_watch watch = {0};
    if (sonde_word_watch_move(&watch, (uintptr_t)stack))
        CHECK(known > rounds - rounds / 10);
    else
        CHECK(known > rounds / 10);
    sonde_word_watch_close(&watch);
}

static void a_deep_stack_in_between_is_noticed(void)
{
    begin();
    enter(0);
    enter(1);
    CHECK(checked_sample());
    CHECK(checked_sample());
    // Something else lay there meanwhile.
    memset(stack, 0x5a, (size_t)((uint8_t *)top() - (uint8_t *)stack) - 64);
    CHECK(!(sample().flags & SONDE_ACTIVATIONS));
    CHECK(checked_sample());
}

static void replaced_frames_are_unknown(void)
{
    begin();
    enter(0);
    enter(7); // the interpreter's
    enter(2);
    CHECK(checked_sample());
    calls[1].method = 3; // it continues in compiled code, entered in its loop
    in_loop[3] = true;
    uint64_t word = sonde_retraced_word(NULL, 1);
    thread->activations[1].code = (uint32_t)(word >> SONDE_INSTR_BITS);
    *(uint32_t *)((uintptr_t)calls[1].slot - BELOW) = 0;
    calls[2].slot[0] = pc_in(3);
    enter(2);
    depth -= 2; // what it had called has returned
    enter(2);
    CHECK(!(sample().flags & SONDE_ACTIVATIONS));
    keep();
    CHECK(checked_sample());
}

// Nothing is written to what is in use, however deep the stack is.
static void leaves_what_is_in_use_alone(void)
{
    begin();
    enter(0);
    for (unsigned i = 1; i < MAX_COUNT; i++)
        enter(i % MARKED_METHODS);
    static uintptr_t before[WORDS];
    memcpy(before, stack, sizeof stack);
    sample();
    uintptr_t *lowest = top() - 16;
    CHECK(memcmp(lowest, before + (lowest - stack), (size_t)(stack + WORDS - lowest) * 8) == 0);
    CHECK(memcmp(stack, before, sizeof stack) != 0);
}

int main(void)
{
    sonde_guard_install();
    thread = aligned_alloc(4096, sizeof *thread);
    CHECK(thread);
    memset(thread, 0, sizeof *thread);
    RUN(compiled_methods_are_known);
    RUN(whatever_is_stated_is_right);
    RUN(a_deep_stack_in_between_is_noticed);
    RUN(replaced_frames_are_unknown);
    RUN(leaves_what_is_in_use_alone);
    for (unsigned i = 0; i < SONDE_WATCHES; i++)
        sonde_word_watch_close(&thread->watches[i]);
    free(thread);
    return 0;
}
