#define _GNU_SOURCE
#include "hotspot/walk/entry_marks.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/method_entries.h"

#include <stdatomic.h>
#include <string.h>

// Whatever a method's entry writes there, it writes half of it.
#define MARK UINT64_C(0x736f6e64a7c3915e)
#define HALF 32

// Below this handler's own frame, or that of the thread if the handler has another stack: what it
// may need yet, and what a later one may. A word closer than that is not marked.
#define HANDLER_BYTES 16384u
#define MAX_HANDLER (1u << 20)

// How an activation is recognized, in the lowest bits of sonde_activation.place: the rest is the
// slot of its return address, which is a multiple of 8. A word that is not the outermost of its
// frame has none.
enum { UNMARKED, MARKED, TOO_DEEP, HOW = 7 };

typedef enum { SAME, NEW, UNCLEAR } verdict;

typedef struct {
    uint32_t root, top; // its words, by their numbers from the outermost one of the stack
    uintptr_t slot;     // of its return address
    bool compiled;
    sonde_blob blob;  // of one that is compiled
    uint64_t entries; // of one that is not: how often its method was entered, 0: unknown
} frame;

// ---- what a method's entry writes

// Code that stores a register so far below the stack pointer: mov [rsp - disp32], eax.
#define STORE "\x89\x84\x24"
#define STORE_LENGTH 3
#define PAGE 4096u
#define MAX_PAGES 255u
#define MAX_CODE (64u << 10)

SONDE_HOT SONDE_FOREIGN static uint32_t find_store(const sonde_blob *blob)
{
    const uint8_t *code = (const uint8_t *)blob->from;
    uintptr_t length = blob->code_to - blob->from;
    length = length < MAX_CODE ? length : MAX_CODE;
    for (uintptr_t i = 0; i + STORE_LENGTH + sizeof(int32_t) <= length; i++) {
        if (code[i] != 0x89 || code[i + 1] != 0x84 || code[i + 2] != 0x24)
            continue;
        const uint8_t *at = code + i + STORE_LENGTH;
        uint32_t below =
            0u - (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        if (below && below % PAGE == 0 && below / PAGE <= MAX_PAGES)
            return below / PAGE;
    }
    return 0;
}

// By the number of the compilation: how many pages below its frame, 0 if it stores nothing.
#define CACHE_BITS 10
static _Atomic uint64_t stores[1u << CACHE_BITS];
#define FOUND 0x100u

SONDE_HOT static uint32_t stored_below(const sonde_blob *blob)
{
    uint64_t key = (uint64_t)(uint32_t)blob->number << 32;
    _Atomic uint64_t *entry = &stores[sonde_hash_place((uint64_t)blob->number, CACHE_BITS)];
    uint64_t known = atomic_load_explicit(entry, memory_order_relaxed);
    if ((known & FOUND) && known >> 32 == key >> 32)
        return (known & (FOUND - 1)) * PAGE;
    uint32_t pages = find_store(blob);
    atomic_store_explicit(entry, key | FOUND | pages, memory_order_relaxed);
    return pages * PAGE;
}

// ---- frames

// The frame whose innermost word is `top`, and where it runs, or has called.
SONDE_HOT SONDE_FOREIGN static frame frame_at(const sonde_retraced *by, uint32_t top)
{
    uint32_t root = top;
    uintptr_t slot = 0, calls = sonde_retraced_slot(by, top);
    while (root && !(slot = sonde_retraced_slot(by, root - 1)))
        root--;
    frame f = {.root = root, .top = top, .slot = root ? slot : sonde_retraced_outermost(by)};
    uintptr_t pc = calls ? *(const uintptr_t *)calls : by->start.pc;
    if (!sonde_is_interpreter(pc))
        f.compiled = sonde_blob_at(pc, &f.blob) && f.blob.number;
    else if (calls) // what it has called saves its frame pointer first of all
        f.entries = sonde_method_entries(sonde_interpreted_method(((const uintptr_t *)calls)[-1]));
    return f;
}

static uint32_t method_of(uint64_t word) { return (uint32_t)(word >> SONDE_INSTR_BITS); }

// Of the outermost word of a frame: its compilation and its method. Of one that was compiled into
// another: where that one calls it, and its method.
static uint64_t code_of(const sonde_retraced *by, const frame *f)
{
    uint32_t number = f->compiled ? (uint32_t)f->blob.number : 0;
    return (uint64_t)number << 32 | method_of(sonde_retraced_word(by, f->root));
}

static uint64_t inlined_code(const sonde_retraced *by, uint32_t word)
{
    return sonde_hash(sonde_retraced_word(by, word - 1)) << 32 |
           method_of(sonde_retraced_word(by, word));
}

static sonde_word_watch *watch_of(sonde_thread *thread, uintptr_t slot)
{
    for (unsigned i = 0; i < SONDE_WATCHES; i++)
        if (thread->watches[i].word == slot)
            return &thread->watches[i];
    return NULL;
}

SONDE_HOT SONDE_FOREIGN static verdict judge_mark(const frame *f)
{
    uint64_t found = *(const uint64_t *)(f->slot - stored_below(&f->blob));
    if (found == MARK)
        return SAME;
    return found >> HALF == MARK >> HALF ? NEW : UNCLEAR;
}

static verdict judge_watch(sonde_thread *thread, uintptr_t slot)
{
    sonde_word_watch *watch = watch_of(thread, slot);
    switch (watch ? sonde_word_watch_state(watch, slot) : SONDE_WORD_UNKNOWN) {
    case SONDE_WORD_UNWRITTEN:
        return SAME;
    case SONDE_WORD_WRITTEN:
        return NEW;
    default:
        return UNCLEAR;
    }
}

// The VM replaces frames by others of the same activation: by the interpreter's where compiled code
// is given up, and those by compiled ones in a loop.
static bool may_replace(const frame *f)
{
    return !f->compiled || sonde_is_entered_in_loop(&f->blob);
}

SONDE_HOT static verdict judge(const sonde_retraced *by, const frame *f)
{
    sonde_thread *thread = by->thread;
    if (f->root >= thread->activations_known)
        return NEW;
    const sonde_activation *last = &thread->activations[f->root];
    uint64_t code = code_of(by, f);
    if (!last->place) { // it was compiled into its caller
        bool alike = f->root && last->code == inlined_code(by, f->root);
        return alike && may_replace(f) ? UNCLEAR : NEW;
    }
    if ((uint32_t)last->code != (uint32_t)code)
        return NEW;
    if (last->code != code)
        return may_replace(f) ? UNCLEAR : NEW;
    if ((last->place & ~(uintptr_t)HOW) != f->slot)
        return NEW; // frames do not move
    switch (last->place & HOW) {
    case MARKED:
        return judge_mark(f);
    case UNMARKED:
        if (f->entries && f->entries == last->entries)
            return SAME;
        return judge_watch(thread, f->slot);
    default:
        return UNCLEAR;
    }
}

// ---- marking

#define MAX_UNMARKED 16
typedef struct {
    const sonde_retraced *by;
    uintptr_t limit; // no word above it may be marked
    // Slots of frames without a mark, of methods that are entered now and then; innermost first.
    uintptr_t unmarked[MAX_UNMARKED];
    unsigned count;
    bool known;
    uint32_t same;
} marks_job;

// `rests`: its method was not entered since the last sample, and there is no need to watch it.
SONDE_HOT SONDE_FOREIGN static void mark(marks_job *job, const frame *f, bool rests)
{
    uintptr_t how = UNMARKED;
    uint32_t below = f->compiled ? stored_below(&f->blob) : 0;
    if (below) {
        uintptr_t word = f->slot - below;
        how = word + sizeof(uint64_t) <= job->limit ? MARKED : TOO_DEEP;
        if (how == MARKED)
            *(volatile uint64_t *)word = MARK;
    } else if (!rests && job->count < MAX_UNMARKED) {
        job->unmarked[job->count++] = f->slot;
    }
    sonde_activation *activation = &job->by->thread->activations[f->root];
    activation->place = f->slot | how;
    activation->entries = f->entries;
}

// Which of the words of a frame that is the same are of methods that still look the same; and how
// the others look now.
SONDE_HOT static uint32_t compare_inlined(marks_job *job, const frame *f)
{
    const sonde_retraced *by = job->by;
    sonde_activation *all = by->thread->activations;
    uint32_t known = by->thread->activations_known, word = f->root + 1;
    while (word <= f->top && word < known && !all[word].place &&
           all[word].code == inlined_code(by, word))
        word++;
    uint32_t same = word;
    for (; word <= f->top; word++)
        all[word] = (sonde_activation){.code = inlined_code(by, word)};
    return same;
}

SONDE_HOT static void put(marks_job *job, const frame *f)
{
    const sonde_retraced *by = job->by;
    sonde_activation *all = by->thread->activations;
    all[f->root].code = code_of(by, f);
    for (uint32_t word = f->root + 1; word <= f->top; word++)
        all[word] = (sonde_activation){.code = inlined_code(by, word)};
    mark(job, f, false);
}

// Frames farther out, where a stack was so deep that the words of their entries were in use, and
// those that a debug register is to watch.
#define MAX_LOOKED 16
SONDE_HOT static void mark_outer(marks_job *job, uint32_t word)
{
    const sonde_retraced *by = job->by;
    for (unsigned i = 0; i < MAX_LOOKED && word; i++) {
        frame f = frame_at(by, word - 1);
        const sonde_activation *last = &by->thread->activations[f.root];
        if ((last->place & HOW) != MARKED)
            mark(job, &f, f.entries && f.entries == last->entries);
        word = f.root;
    }
}

SONDE_HOT static void marks_body(void *arg)
{
    marks_job *job = arg;
    const sonde_retraced *by = job->by;
    uint32_t words = by->same + by->depth - by->above;
    verdict inner = NEW;
    for (uint32_t top = words; top;) {
        frame f = frame_at(by, top - 1);
        verdict is = judge(by, &f);
        if (is == SAME) {
            job->known = inner != UNCLEAR;
            job->same = compare_inlined(job, &f);
            mark_outer(job, top);
            break;
        }
        put(job, &f);
        inner = is;
        top = f.root;
        job->known = !top && is == NEW;
    }
    by->thread->activations_known = words;
}

// If they are too many: the innermost, which changes most often, the outermost, by which it is
// known that all of them have changed, and one in between.
static void watch_unmarked(const marks_job *job)
{
    sonde_word_watch *watches = job->by->thread->watches;
    uintptr_t slots[SONDE_WATCHES] = {0};
    bool kept[SONDE_WATCHES] = {false};
    unsigned count = job->count < SONDE_WATCHES ? job->count : SONDE_WATCHES;
    for (unsigned i = 0; i < count; i++) {
        slots[i] = job->unmarked[count > 1 ? i * (job->count - 1) / (count - 1) : 0];
        sonde_word_watch *watch = watch_of(job->by->thread, slots[i]);
        if (watch) {
            kept[watch - watches] = true;
            sonde_word_watch_move(watch, slots[i]);
            slots[i] = 0;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        // Outer frames, which lie higher, last longer.
        sonde_word_watch *lowest = NULL;
        for (unsigned k = 0; k < SONDE_WATCHES; k++)
            if (!kept[k] && (!lowest || watches[k].word < lowest->word))
                lowest = &watches[k];
        if (!slots[i] || !lowest)
            continue;
        kept[lowest - watches] = true;
        if (!sonde_word_watch_move(lowest, slots[i]))
            return;
    }
}

SONDE_HOT void sonde_entry_marks_sample(const sonde_retraced *by, uintptr_t sp, sonde_event *event)
{
    uintptr_t own = (uintptr_t)__builtin_frame_address(0);
    uintptr_t lowest = sp - own < MAX_HANDLER ? own : sp;
    marks_job job = {.by = by, .limit = lowest - HANDLER_BYTES};
    if (by->above >= by->same + by->depth || !sonde_guard_run_unchecked(marks_body, &job)) {
        by->thread->activations_known = 0;
        return;
    }
    watch_unmarked(&job);
    if (job.known) {
        event->same = job.same;
        event->flags |= SONDE_ACTIVATIONS;
    }
}

void sonde_entry_marks_role(sonde_thread *thread, uint64_t role, sonde_event *event)
{
    sonde_activation *last = &thread->activations[0];
    event->same = thread->activations_known == 1 && last->code == role;
    event->flags |= SONDE_ACTIVATIONS;
    *last = (sonde_activation){.place = HOW + 1, .code = role};
    thread->activations_known = 1;
}
