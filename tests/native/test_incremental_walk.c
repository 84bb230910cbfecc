// Java stacks put together from what is known: whatever the frames do between two of them, each is
// to be what the VM's own walker finds. The VM, its walker and its frames are made up here.
#define _GNU_SOURCE
#include "check.h"
#include "core/session/name_records.h"
#include "core/session/stack_delta.h"
#include "core/signals/fault_guard.h"
#include "hotspot/names/methods.h"
#include "hotspot/names/native_symbols.h"
#include "hotspot/names/vm_thread_roles.h"
#include "hotspot/walk/inline_cache.h"
#include "hotspot/walk/java_word.h"
#include "hotspot/walk/machine_frames.h"
#include "hotspot/walk/walk.h"
#include "recorder_side.h"

#include <pthread.h>
#include <string.h>

// ---- code, of which only the addresses matter

#define METHODS 40u
#define CODE_FROM ((uintptr_t)0x700000000000)
#define CODE_SIZE 0x1000u
#define CODE_STUBS 0x800u // where a method's own code ends
#define INTERPRETER ((uintptr_t)0x710000000000)
#define ENTRY ((uintptr_t)0x720000000000)
#define ROUTINE ((uintptr_t)0x730000000000)

static int32_t numbers[METHODS]; // of their compilations

static uintptr_t code_of(unsigned method) { return CODE_FROM + method * CODE_SIZE; }

static int32_t words_of(unsigned method) { return 3 + (int32_t)(method % 9); }

bool sonde_blob_at(uintptr_t pc, sonde_blob *out)
{
    if (pc - CODE_FROM >= METHODS * CODE_SIZE)
        return false;
    unsigned method = (unsigned)((pc - CODE_FROM) / CODE_SIZE);
    *out = (sonde_blob){.from = code_of(method),
                        .words = words_of(method),
                        .is_method = true,
                        .number = numbers[method],
                        .code_to = code_of(method) + CODE_STUBS};
    return true;
}

bool sonde_is_entered_in_loop(const sonde_blob *method)
{
    (void)method;
    return false;
}
// Activations have a test of their own.
uint64_t sonde_method_entries(uintptr_t method)
{
    (void)method;
    return 0;
}

bool sonde_is_generated(uintptr_t pc)
{
    return pc - CODE_FROM < METHODS * CODE_SIZE || sonde_is_interpreter(pc) || pc == ENTRY ||
           pc == ROUTINE;
}
bool sonde_is_interpreter(uintptr_t pc) { return pc - INTERPRETER < CODE_SIZE; }
bool sonde_is_entry(uintptr_t pc) { return pc == ENTRY; }

// ---- methods that a place in it is in

// All of a thread's stacks begin the same: the code that is first has this one in it, compiled or
// not.
#define ROOT ((jmethodID)(uintptr_t)8)

typedef struct {
    unsigned count;
    sonde_java_frame frames[20];
} inlined;

static inlined inlined_at(uintptr_t pc, int32_t number, bool calls)
{
    uint64_t state = pc * 31 + (uint64_t)number * 7919 + calls + 1;
    inlined all = {.count = 1 + (unsigned)(draw(&state) % 4)};
    if (draw(&state) % 50 == 0)
        all.count = 15 + (unsigned)(draw(&state) % 6); // more than are remembered
    for (unsigned i = 0; i < all.count; i++)           // few: stacks are much alike
        all.frames[i] = (sonde_java_frame){(jint)(draw(&state) % 3),
                                           (jmethodID)(uintptr_t)(8 * (1 + draw(&state) % 3))};
    if (pc - CODE_FROM < CODE_SIZE)
        all.frames[all.count - 1].method = ROOT;
    return all;
}

// ---- a thread: frames, and the stack on which they lie

typedef struct {
    bool interpreted, deoptimized;
    unsigned method; // of an interpreted one a number of its own
    uintptr_t pc;    // where it is, or where its callee returns to
    uintptr_t bytecode;
    const uintptr_t *sp, *fp; // where it lies
} frame;

#define MAX_COUNT 220u
#define MAX_DEEP 5000u
static frame frames[MAX_DEEP]; // outermost first; the innermost is compiled
static unsigned depth;
static bool first_entry, in_routine, collecting;
static unsigned outer_words; // of Java below the entry

#define WORDS 65536u
static uintptr_t stack[WORDS];
static uintptr_t *sp;
static const uintptr_t *entry_fp;

static void push(uintptr_t word) { *--sp = word; }

// What lies there from earlier calls looks like frames, too.
static void push_some(unsigned words, uint64_t *state)
{
    while (words--)
        push(draw(state) % 3 ? draw(state) : code_of(draw(state) % METHODS) + 64);
}

static uintptr_t shown(const frame *f)
{
    if (f->interpreted)
        return INTERPRETER + 100;
    return f->deoptimized ? code_of(f->method) + CODE_STUBS + 16 : f->pc;
}

static void lay_down(uint64_t seed)
{
    uint64_t state = seed;
    sp = stack + WORDS - 64;
    entry_fp = sp + 32;
    uintptr_t pc = ENTRY, fp = (uintptr_t)entry_fp;
    for (unsigned i = 0; i < depth; i++) {
        frame *f = &frames[i];
        const uintptr_t *callers = sp;
        if (f->interpreted) {
            push_some(f->method % 3, &state); // arguments that were moved
            push(pc);
            push(fp);
            fp = (uintptr_t)sp;
            push((uintptr_t)callers);
            push(0);
            push(f->method);
            push_some(4, &state);
            push(f->bytecode);
            push_some(2, &state);
        } else {
            push(pc);
            push(fp);
            push_some((unsigned)words_of(f->method) - 2, &state);
            fp = draw(&state); // of compiled code: anything
        }
        f->sp = sp;
        f->fp = (const uintptr_t *)fp;
        pc = shown(f);
    }
}

bool sonde_is_first_entry(uintptr_t fp) { return fp == (uintptr_t)entry_fp && first_entry; }

// ---- what the VM exports

sonde_vm_t sonde_vm;
static unsigned asked; // words that were

static void put_frame(sonde_java_trace *trace, jint most, sonde_java_frame frame)
{
    if (trace->count < most)
        trace->frames[trace->count++] = frame;
}

static void put_inlined(sonde_java_trace *trace, jint most, unsigned number)
{
    const frame *f = &frames[number];
    if (f->interpreted) {
        put_frame(trace, most,
                  (sonde_java_frame){(jint)f->bytecode, (jmethodID)(uintptr_t)(8 * f->method)});
        return;
    }
    inlined all = inlined_at(f->pc, numbers[f->method], number + 1 < depth);
    for (unsigned i = 0; i < all.count; i++)
        put_frame(trace, most, all.frames[i]);
}

static void walk_frames(sonde_java_trace *trace, jint most, unsigned from)
{
    trace->count = 0;
    for (unsigned i = from + 1; i-- > 0;)
        put_inlined(trace, most, i);
    for (unsigned i = 0; i < outer_words; i++)
        put_frame(trace, most, (sonde_java_frame){7, ROOT});
}

static void call_trace(sonde_java_trace *trace, jint most, void *context)
{
    const uintptr_t *from = (const uintptr_t *)sonde_context_sp(context);
    uintptr_t pc = sonde_context_pc(context);
    trace->count = collecting ? -2 : -6;
    for (unsigned i = 0; i < depth && !collecting; i++) {
        const frame *f = &frames[i];
        if (f->interpreted || f->deoptimized || f->sp != from)
            continue;
        bool calls = i + 1 < depth;
        if (pc == f->pc - calls || (!calls && pc == ROUTINE))
            walk_frames(trace, most, i);
    }
    asked += trace->count > 0 ? (unsigned)trace->count : 0;
}

static struct {
    JNIEnv env;
    sonde_vm_anchor anchor;
} record;

JNIEnv *sonde_vm_thread(const void **java_thread)
{
    *java_thread = &record;
    return &record.env;
}
sonde_vm_anchor *sonde_vm_anchor_of(const void *java_thread)
{
    (void)java_thread;
    return &record.anchor;
}
int sonde_vm_state(const void *java_thread)
{
    (void)java_thread;
    return SONDE_IN_JAVA;
}
bool sonde_vm_make_walkable(const void *java_thread, uintptr_t stack_pointer)
{
    (void)java_thread;
    (void)stack_pointer;
    return false;
}

void sonde_vm_leave_unwalkable(const void *java_thread) { (void)java_thread; }

// No thread of this test waits for a monitor.
uint32_t sonde_blocked_stack(sonde_thread *me, const void *record, uint32_t above,
                             sonde_event *event)
{
    (void)me, (void)record, (void)above, (void)event;
    return 0;
}
// Nor does it enter a span.
const void *sonde_thread_place(const sonde_thread *me, const void *record)
{
    (void)me, (void)record;
    return NULL;
}
uint64_t sonde_vm_own_object(void) { return 1; }
uint64_t sonde_native_at(sonde_thread *thread, uintptr_t pc)
{
    (void)thread;
    (void)pc;
    return 0;
}
uint64_t sonde_role(sonde_thread *thread, bool is_java)
{
    (void)thread;
    (void)is_java;
    return 0;
}
uint64_t sonde_role_of_vm(sonde_thread *thread)
{
    (void)thread;
    return 0;
}
uint64_t sonde_method_id(sonde_thread *thread, jmethodID method)
{
    (void)thread;
    return (uintptr_t)method / 8;
}

// From a routine several places may be the caller's, of which those that are not lead nowhere.
void sonde_find_places(const ucontext_t *context, bool in_java, sonde_places *out)
{
    CHECK(in_java);
    const frame *innermost = &frames[depth - 1];
    sonde_place here = {innermost->pc, (uintptr_t)innermost->fp, innermost->sp};
    *out = (sonde_places){.walkable = !in_routine, .count = 1, .places = {here}};
    if (!in_routine)
        return;
    uint64_t state = sonde_context_sp(context);
    sonde_place wrong[] = {{ROUTINE, 8, sp}, {innermost->pc, 8, (const uintptr_t *)8}, here};
    out->places[0] = wrong[draw(&state) % 3];
    out->places[1] = here;
    out->count = 2;
}
void sonde_find_places_below(const sonde_place *left, sonde_places *out)
{
    (void)left;
    out->count = 0;
}

// ---- what the frames do

static void call_some(uint64_t *state, bool innermost)
{
    unsigned method = (unsigned)(draw(state) % METHODS);
    frame f = {.method = method, .pc = code_of(method) + 64 + 8 * (draw(state) % 5)};
    if (!depth)
        f = (frame){.pc = code_of(0) + 64};
    if (!innermost && draw(state) % 8 == 0)
        f = (frame){.interpreted = true,
                    .method = depth ? 1 + (unsigned)(draw(state) % 3) : 1,
                    .bytecode = draw(state) % 4};
    frames[depth++] = f;
}

static void go_on(uint64_t *state)
{
    if (draw(state) % 100 == 0) // another thread of the same kind, so to speak
        depth = 0;
    unsigned pops = draw(state) % 3 ? (unsigned)(draw(state) % 3) : 0;
    unsigned pushes = (unsigned)(draw(state) % 3) + (depth < 100 && draw(state) % 4 == 0);
    depth -= pops < depth ? pops : depth;
    if (depth) { // whoever has called, or was called, is somewhere else now
        frame *f = &frames[depth - 1];
        f->deoptimized = false;
        if (f->interpreted)
            f->bytecode = draw(state) % 4;
        else
            f->pc = code_of(f->method) + 64 + 8 * (draw(state) % 5);
    }
    while (pushes-- && depth < MAX_COUNT - 1)
        call_some(state, false);
    if (!depth || frames[depth - 1].interpreted)
        call_some(state, true);
    // Not the innermost: that finds out by itself. It stays so until it goes on.
    if (depth > 3 && draw(state) % 300 == 0)
        frames[depth - 2 - draw(state) % 3].deoptimized = true;
    first_entry = draw(state) % 60 != 0;
    outer_words = first_entry ? 0 : 1 + (unsigned)(draw(state) % 4);
    in_routine = draw(state) % 10 == 0;
    collecting = draw(state) % 200 == 0;
    record.anchor.sp = draw(state) % 100 == 0 ? stack : NULL;
    if (draw(state) % 300 == 0) { // compiled again: no thread is in the old code
        unsigned method = (unsigned)(draw(state) % METHODS);
        for (unsigned i = 0; i < depth; i++)
            if (!frames[i].interpreted && frames[i].method == method)
                return;
        numbers[method]++;
    }
}

static void expect_stack(const decoded *got)
{
    sonde_java_frame java_frames[4000];
    sonde_java_trace trace = {.frames = java_frames};
    walk_frames(&trace, 4000, depth - 1);
    CHECK_EQUAL(got->depth, trace.count);
    for (uint32_t i = 0; i < got->depth; i++)
        CHECK(got->frames[got->depth - 1 - i] == sonde_java_word(NULL, &java_frames[i]));
}

static memory begin(uint32_t what)
{
    sonde_config config = config_for(4, 1 << 18);
    config.what |= what;
    memory m = make_memory(config);
    CHECK_EQUAL(sonde_session_start(&m.config, m.memfd), 0);
    sonde_vm.call_trace = call_trace;
    for (unsigned i = 0; i < METHODS; i++)
        numbers[i] = (int32_t)i + 1;
    asked = depth = outer_words = 0;
    first_entry = true;
    in_routine = collecting = false;
    record.anchor.sp = NULL;
    return m;
}

// The stack as it lies there, written and read; the flags of its record.
static uint8_t sample(const memory *m, sonde_thread *thread, decoded *out)
{
    const frame *innermost = &frames[depth - 1];
    ucontext_t context = {0};
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)(in_routine ? ROUTINE : innermost->pc);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)innermost->sp;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)innermost->fp;
    sonde_event event = {.time = 1};
    sonde_write_stack(thread, sonde_hotspot_walk(thread, &context, &event), &event);
    const sonde_rec_sample *written = take(m, index_of(thread), out);
    CHECK(written);
    done(m, index_of(thread), written);
    return event.flags;
}

static void wander(uint32_t what, unsigned rounds)
{
    memory m = begin(what);
    sonde_thread *thread = sonde_enter();
    uint64_t state = 5;
    static decoded out;
    uint64_t words = 0, walked = 0;
    for (unsigned round = 0; round < rounds; round++) {
        go_on(&state);
        lay_down(draw(&state) % 2 ? 1 : draw(&state));
        if (draw(&state) % 150 == 0) { // somebody else's stack in between
            sonde_stack(thread)[0] = 99;
            sonde_write_stack(thread, 1, &(sonde_event){.time = 1});
            done(&m, index_of(thread), take(&m, index_of(thread), &out));
        }
        // What is known needs no walker, also while that does not walk.
        if (sample(&m, thread, &out) & SONDE_UNDECODABLE) {
            CHECK(collecting || record.anchor.sp);
        } else {
            expect_stack(&out);
            walked++;
            words += out.depth;
        }
    }
    CHECK(walked > rounds - rounds / 50);
    if (what & SONDE_WHAT_CHECKED) {
        CHECK(m.header->walks_checked > rounds / 2);
        CHECK_EQUAL(m.header->walks_wrong, 0);
    } else {
        CHECK(thread->slot->frames > words / 2);
        CHECK(thread->slot->visited < words / 20);
        CHECK(asked < words / 2);
    }
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

static void finds_what_the_walker_would(void) { wander(0, 60000); }

// A deep stack that is known, and as many new frames on it as make it more than can be kept.
static void leaves_out_what_does_not_fit(void)
{
    memory m = begin(0);
    sonde_thread *thread = sonde_enter();
    static decoded out;
    enum { KEPT = SONDE_MAX_DEPTH - 2, STEP = 150 };
    uint64_t state = 3;
    unsigned truncated = 0, whole = 0;
    for (int round = 0; round < 3; round++) {
        for (depth = 0; depth + STEP < MAX_DEEP;) {
            for (unsigned i = 0; i < STEP; i++)
                frames[depth++] = (frame){.pc = code_of(0) + 64 + 8 * (draw(&state) % 2)};
            lay_down(1);
            uint8_t flags = sample(&m, thread, &out);
            static sonde_java_frame java_frames[100000];
            sonde_java_trace trace = {.frames = java_frames};
            walk_frames(&trace, 100000, depth - 1);
            uint32_t fits = trace.count < KEPT ? (uint32_t)trace.count : KEPT;
            CHECK_EQUAL(flags, (uint32_t)trace.count < KEPT ? 0 : SONDE_TRUNCATED);
            CHECK_EQUAL(out.depth, fits);
            for (uint32_t i = 0; i < fits; i++)
                CHECK(out.frames[fits - 1 - i] == sonde_java_word(NULL, &java_frames[i]));
            *(flags ? &truncated : &whole) += 1;
        }
    }
    CHECK(truncated > 3 && whole > 3);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

static void may_be_checked(void) { wander(SONDE_WHAT_CHECKED, 5000); }

// Two stacks in which a frame returns to the same place through the same word, though it lies
// elsewhere: once its callee is interpreted, and its arguments were moved. What is left of the
// first stack leads on as it did then.
static void distinguishes_a_frame_from_one_elsewhere(void)
{
    memory m = begin(0);
    sonde_thread *thread = sonde_enter();
    static decoded out;
    enum { OUTER = 9, LARGER = 11, CALLER = 8, CALLEE = 3, MOVED = 2 };
    CHECK_EQUAL(words_of(LARGER) - words_of(OUTER), MOVED);
    const frame outer = {.method = OUTER, .pc = code_of(OUTER) + 64};
    const frame larger = {.method = LARGER, .pc = code_of(LARGER) + 64};
    const frame caller = {.method = CALLER, .pc = code_of(CALLER) + 64};
    const frame interpreted = {.interpreted = true, .method = MOVED};
    const frame callee = {.method = CALLEE, .pc = code_of(CALLEE) + 64};
    const uintptr_t *left = NULL;
    for (int round = 0; round < 8; round++) {
        depth = 0;
        frames[depth++] = (frame){.pc = code_of(0) + 64};
        frames[depth++] = round % 2 ? larger : outer;
        frames[depth++] = caller;
        if (round % 2 == 0)
            frames[depth++] = interpreted;
        frames[depth++] = callee;
        lay_down(1);
        if (round % 2 == 0) {
            left = frames[1].sp - 1;
        } else {
            CHECK(left >= frames[1].sp && left < frames[1].sp + words_of(LARGER) - 2);
            stack[left - stack] = outer.pc;
        }
        CHECK_EQUAL(sample(&m, thread, &out), 0);
        expect_stack(&out);
    }
    CHECK(thread->walked.known);
    sonde_leave(thread);
    sonde_session_stop();
    drop_memory(&m);
}

// ---- what is remembered of code

static void *remember(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg, words[SONDE_MAX_INLINED], known = 0;
    // While a thread that writes is not on a processor, nothing is known to the others.
    for (int i = 0; i < 300000 || (known <= 1000 && i < 100000000); i++) {
        // Three places that share an entry, compiled again and again.
        sonde_code_place place = {.pc = 8, .number = 1 + (int32_t)(draw(&state) % 3)};
        uint64_t sum = (uint64_t)place.number * 1000;
        if (draw(&state) % 2) {
            for (unsigned k = 0; k < SONDE_MAX_INLINED; k++)
                words[k] = sum + k;
            sonde_inline_cache_add(&place, words, 1 + (unsigned)(draw(&state) % SONDE_MAX_INLINED));
            continue;
        }
        unsigned count = sonde_inline_cache_find(&place, words);
        known += count > 0;
        for (unsigned k = 0; k < count; k++)
            CHECK_EQUAL(words[k], sum + k);
    }
    CHECK(known > 1000);
    return NULL;
}

static void remembers_all_or_nothing(void)
{
    memory m = begin_session(4, 4096);
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, remember, (void *)(i + 1)) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    // Where a call returns to may have another method than where something runs.
    sonde_code_place runs = {.pc = 0x1234, .number = 5}, calls = {0x1234, 5, true};
    uint64_t words[SONDE_MAX_INLINED], one = 11, two[] = {21, 22};
    CHECK_EQUAL(sonde_inline_cache_find(&runs, words), 0);
    sonde_inline_cache_add(&runs, &one, 1);
    CHECK_EQUAL(sonde_inline_cache_find(&calls, words), 0);
    sonde_inline_cache_add(&calls, two, 2);
    CHECK_EQUAL(sonde_inline_cache_find(&runs, words), 1);
    CHECK_EQUAL(words[0], 11);
    CHECK_EQUAL(sonde_inline_cache_find(&calls, words), 2);
    CHECK_EQUAL(words[1], 22);
    sonde_session_stop();
    drop_memory(&m);
}

int main(void)
{
    sonde_guard_install();
    RUN(finds_what_the_walker_would);
    RUN(leaves_out_what_does_not_fit);
    RUN(may_be_checked);
    RUN(distinguishes_a_frame_from_one_elsewhere);
    RUN(remembers_all_or_nothing);
    return 0;
}
