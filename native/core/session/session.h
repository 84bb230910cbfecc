// One session of one process: the mapped memory, the slot of each thread.
// Everything here but start, stop and forked may be called in a signal handler.
#ifndef SONDE_CORE_SESSION_H
#define SONDE_CORE_SESSION_H

#include "core/base/hash.h"
#include "core/base/word_watch.h"
#include "core/session/ring.h"
#include "core/session/seen_set.h"

#include <stdbool.h>

// Deeper stacks keep their innermost frames and are marked truncated.
#define SONDE_MAX_DEPTH 4096
// Call sites in code of more instructions than this are not looked into.
#define SONDE_SCRATCH 32768
#define SONDE_SITES_BITS 16
#define SONDE_SITES (1u << SONDE_SITES_BITS)

// What a thread ran last, and its ids. The table of all ids is spread over many pages, and between
// two samples the program evicts most of them from the caches; this one is on one page.
#define SONDE_ID_CACHE_BITS 7
typedef struct {
    const void *key;
    uint64_t about; // id << 8 | what the runtime needs to know of it
} sonde_id_cache_entry;

// A slot's busy mark is in the library itself, which is never unmapped: a late handler may read it
// although the session is over and its memory unmapped.
#define SONDE_MAX_SLOTS 4096
typedef struct {
    _Alignas(64) _Atomic uint32_t busy;
} sonde_mark;

// A window in which a thread's calls are counted, see call_windows.h.
typedef struct {
    bool open, begun;
    bool all;             // calls of C functions, too
    bool asks;            // the kernel for the thread's CPU time, see call_windows.c
    uint32_t doubted;     // so many more windows that are to ask
    uint32_t number;      // of this thread's windows
    uint32_t stride;      // every Nth call is taken, on average
    uint32_t skip;        // calls until the next that is
    uint32_t step;        // as it was set after the last one
    uint32_t left, taken; // calls to be taken yet, and taken
    uint32_t interpreter;
    uint64_t random;
    uint64_t due_ns;       // CPU time since one was due
    uint64_t opened, tsc;  // by the clock and the processor's counter,
    uint64_t cpu;          // and by the thread's CPU clock, if it asks
    double ns_per_tsc;     // 0: not known yet
    uint64_t last_tsc;     // when the last call was taken
    uint64_t off_cpu_tsc;  // up to then, that another thread was on CPU
    uint64_t overhead_tsc; // that we spent ourselves since
    uint64_t warm_tsc;     // no call before this is counted; 0: all are
    uint64_t cold_tsc;     // the program's own time until then
    uint32_t cold_calls;   // in which it made so many calls
    int64_t reporting_tsc; // that the runtime took to report calls, by estimate
    uint64_t min_tsc;      // that such calls take in any case
    double call_tsc;       // from one call to the next, if it was measured before; else 0
    uint64_t made;         // then: calls since, counted or not
    _Atomic uint64_t cut;  // by the same clock, when another thread ended it; 0: none did
} sonde_window;

// What a walk leaves to the writer of its stack, see stack_delta.h.
typedef struct {
    bool known;  // where each frame of the last stack lies
    bool traced; // likewise of the stack walked, which has this many words of its own
    uint32_t words;
    uint32_t same; // outermost words of the last stack that follow what was walked
} sonde_walked;

// A frame of the last sample: what distinguishes its activation from another one, and of what code
// it is; for the runtime's own use.
typedef struct {
    uintptr_t place;
    uint64_t code, entries;
} sonde_activation;
#define SONDE_WATCHES 3 // debug registers, of four

// How a stack differs from what was written before, see stack_delta.h.
typedef struct {
    uint32_t keep, count; // outermost words that stay, and new ones
    bool detached;        // which are for this record only
} sonde_stack_delta;

typedef struct { // what the agent itself knows of a slot, while the session lasts
    _Alignas(4096) sonde_mark *mark;
    bool named;             // its slot's thread_object is known
    uint32_t unnamed_walks; // whole walks that did not show it
    sonde_ring ring;
    sonde_slot *slot;
    // sig_data of the perf event that this thread listens to, by kind; of events by number, too
    uint64_t armed_by[2 + SONDE_MAX_EVENTS];
    uint64_t entered_cpu, handled; // CPU time when the handler was entered; how many there were
    uint64_t ticked, ticked_cpu;   // time and CPU time at the last tick
    uint64_t seen, seen_cpu;       // the same up to which waits are known
    uint64_t throttled_until;      // CPU time before which no sample is taken; 1: look closer
    bool was_expensive;            // so was the last handler
    uint64_t last_pc, last_sp;     // where the last signal interrupted
    uint64_t switches;             // voluntary context switches at the last wait
    sonde_window window;
    uint8_t measures[SONDE_MAX_EVENTS]; // how events are measured that have come
    bool counts_use;                    // any of them is, see kernel_events.c
    uint64_t used[SONDE_MAX_EVENTS];    // of each: what was reported, or was our own doing
    uint64_t entry[5];                  // by SONDE_MEASURE_*, when this handler was entered
    uint64_t touched;                   // the address that the last event was about
    uint64_t registers;                 // at the last event, all of them in one
    uint32_t repeats;                   // signals of events without an instruction between them
    uint32_t depth;                     // of the last stack written
    uint32_t last_stack_size; // so many words of `last_stack` may be referred to, see stack_delta.h
    uint32_t detached, detached_run; // words of the last record for itself only; how often in a row
    uint64_t task;                   // of the last record, see current_task.h
    uint32_t same;                   // of the last sample written, what is there ever since
    sonde_stack_delta draft;         // of the stack in a record that is not published yet
    sonde_walked walked;
    sonde_word_watch watches[SONDE_WATCHES]; // of words on its stack
    uint32_t activations_known;              // so many of `activations`
    uint64_t root;   // what the runtime knows the thread's stacks to begin with; 0: nothing yet
    uint64_t deaths; // of sonde_session, when `id_cache` was last right
    sonde_id_cache_entry id_cache[1u << SONDE_ID_CACHE_BITS];
    uintptr_t walked_frames[SONDE_MAX_DEPTH]; // backwards, see stack_delta.h
    uint64_t fresh[SONDE_MAX_DEPTH];          // the stack walked, innermost first
    uintptr_t last_frames[SONDE_MAX_DEPTH];
    uint64_t last_stack[SONDE_MAX_DEPTH]; // the last stack written, outermost first
    int16_t scratch[SONDE_SCRATCH];       // room for working out a call site
    uint64_t unmarked[SONDE_MAX_DEPTH];   // for the runtime's own use: where marks are to be set
    uint64_t blocked[SONDE_MAX_DEPTH];    // likewise: the stack of the last wait, innermost first
    uint32_t blocked_depth;
    sonde_activation activations[SONDE_MAX_DEPTH]; // of the last sample, outermost first
} sonde_thread;

typedef struct {
    _Atomic uint32_t generation; // of the running session; 0: none
    _Atomic uint32_t acquiring;
    sonde_header *header;
    sonde_slot *slots;
    uint8_t *rings;
    sonde_probe_area *area; // NULL: the session has none
    size_t area_size;
    sonde_thread *threads; // one per slot
    uint8_t *flow;         // the memory of the call flow, NULL if it is not recorded
    size_t flow_size;
    size_t mapped, threads_mapped;
    sonde_config config;
    sonde_seen *seen;
    _Atomic uint64_t deaths; // of things that had been seen
    _Atomic uint64_t *sites; // SONDE_SITES words for the runtime's own use, see there
    bool exact_cpu;          // every sample carries the CPU clock
    uint64_t cpu_read_ns;    // what reading it costs
    uint32_t armed_tid;      // of a forked child that armed itself: its first thread
    sonde_thread *notes;
    sonde_mark *notes_mark;
    _Atomic uint32_t notes_taken;
} sonde_session;

extern sonde_session sonde;

// Takes over the mapping described by `config`. 0 or an errno.
int sonde_session_start(const sonde_config *config, int memfd);
// Ends the session: afterwards no handler touches the mapping, which is unmapped.
void sonde_session_stop(void);
// In a forked child: drops what belongs to the parent without touching its memory.
void sonde_session_forked(void);
// What the parent's recorder had ordered at the fork. Valid after sonde_session_forked().
typedef struct {
    uint32_t what;
    uint64_t period_ns;
    bool has_events; // of the kernel
} sonde_orders;
sonde_orders sonde_parent_orders(void);
// Unmaps what a forked child still has of its parent's memory, the header. `joined`: the child is
// in the session; if not, it is counted there.
void sonde_parent_forget(bool joined);

// What is to be captured at this moment, and how often; only while there is a session.
static inline uint32_t sonde_what(void)
{
    return atomic_load_explicit(&sonde.header->what, memory_order_relaxed);
}
static inline uint64_t sonde_period(void)
{
    return atomic_load_explicit(&sonde.header->period_ns, memory_order_relaxed);
}

// The calling thread's record with its busy mark set, or NULL (no session, or no slot free).
sonde_thread *sonde_enter(void);
// From here on the calling thread is none of the target's: it is never entered, its hooks report
// nothing.
void sonde_exclude_current_thread(void);
void sonde_leave(sonde_thread *thread);
// The same for a thread whose slot the caller feeds on its behalf.
sonde_thread *sonde_slot_acquire(uint32_t tid);

// A slot for records written outside of handlers; one writer at a time, NULL if taken.
sonde_thread *sonde_notes_enter(void);
void sonde_notes_leave(void);
// The same, but waits for another writer, which has it for some microseconds. NULL after a while.
sonde_thread *sonde_notes_borrow(void);

// The place for `key` in the thread's cache; what it holds is valid only after a refresh.
void sonde_id_cache_refresh(sonde_thread *thread);
static inline sonde_id_cache_entry *sonde_id_cache_place(sonde_thread *thread, const void *key)
{
    return &thread->id_cache[sonde_hash_place((uint64_t)(uintptr_t)key, SONDE_ID_CACHE_BITS)];
}

// The address of a word's frame, and whether it was marked; 0 for a word that has none. These are
// before the words, and backwards, so that a shallow stack and its frames are on one page.
#define SONDE_FRAME_MARKED 1u
static inline uintptr_t *sonde_walked_frame(sonde_thread *thread, uint32_t word)
{
    return &thread->walked_frames[SONDE_MAX_DEPTH - 1 - word];
}
static inline uintptr_t *sonde_last_frame(sonde_thread *thread, uint32_t word)
{
    return &thread->last_frames[SONDE_MAX_DEPTH - 1 - word];
}

// Where to put the next stack (SONDE_MAX_DEPTH words, innermost first).
static inline uint64_t *sonde_stack(sonde_thread *thread) { return thread->fresh; }

#endif
