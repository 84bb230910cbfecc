#define _GNU_SOURCE
#include "core/session/session.h"

#include "core/base/clock.h"
#include "core/base/hot.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

sonde_session sonde;

static uint32_t last_generation;

static sonde_mark marks[SONDE_MAX_SLOTS];
static _Atomic uint32_t marks_used; // those at and above this index were never set

static bool forked; // since the last session
static sonde_header *parent_header;

static _Thread_local struct {
    sonde_thread *thread;
    sonde_mark *mark;
    uint32_t generation;
    bool excluded;
} mine __attribute__((tls_model("initial-exec")));

static void *reserve(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

// Every sample reads these tables at random places. They share one huge page where the kernel
// provides one: under virtualization each TLB miss walks two levels of page tables. A part of the
// library, like the marks: a code object may die, and be looked for, at any time.
#define HUGE_PAGE (2u << 20)
typedef struct {
    sonde_seen seen;
    _Atomic uint64_t sites[SONDE_SITES];
} tables_t;
#define TABLES_SIZE ((sizeof(tables_t) + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1))
static uint8_t tables_room[TABLES_SIZE + HUGE_PAGE];

static tables_t *tables(void)
{
    uintptr_t at = (uintptr_t)tables_room;
    return (tables_t *)((at + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
}

// A child gets empty tables: the kernel need not copy them, nor the parent after each fork what it
// writes there.
#ifndef MADV_WIPEONFORK // Linux 4.14
#define MADV_WIPEONFORK 18
#endif

static void prepare_tables(void)
{
    sonde.seen = &tables()->seen;
    sonde.sites = tables()->sites;
    if (forked) {
        madvise(tables(), TABLES_SIZE, MADV_DONTNEED);
        return;
    }
    madvise(tables(), TABLES_SIZE, MADV_HUGEPAGE);
    madvise(tables(), TABLES_SIZE, MADV_WIPEONFORK);
    memset(tables(), 0, sizeof(tables_t)); // not left to the first handler
}

static void give_tables_back(void) { madvise(tables(), TABLES_SIZE, MADV_DONTNEED); }

static uint64_t cost_of_cpu_clock(void)
{
    uint64_t start = sonde_thread_cpu(), now = start;
    for (int i = 0; i < 64; i++)
        now = sonde_thread_cpu();
    return (now - start) / 64;
}

static void close_watches(sonde_thread *thread)
{
    for (unsigned i = 0; i < SONDE_WATCHES; i++)
        sonde_word_watch_close(&thread->watches[i]);
    thread->activations_known = 0;
}

static void forget_threads(void)
{
    void *at = sonde.threads;
    sonde.threads = NULL; // first: a child forked meanwhile must not believe that it has them
    if (at)
        munmap(at, sonde.threads_mapped);
}

// A thread writes its first event while others wait for it, events of the GIL while it holds the
// GIL. Where 500 threads do so one after the other, the page faults of each add up to a noticeable
// stall. So the pages of existing threads are populated before.
#ifndef MADV_POPULATE_WRITE // Linux 5.14; older kernels refuse it, and it is left out
#define MADV_POPULATE_WRITE 23
#endif
#define MAX_PREPARED 1024
#define PAGE 4096u

static void bring_in(void *from, size_t size)
{
    uintptr_t at = (uintptr_t)from & ~(uintptr_t)(PAGE - 1);
    madvise((void *)at, (uintptr_t)from + size - at, MADV_POPULATE_WRITE);
}

static void prepare_slots(void)
{
    int saved = errno;
    struct stat tasks; // the links to a folder are its own two, and one from each folder in it
    uint32_t n = stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2
                     ? (uint32_t)(tasks.st_nlink - 2)
                     : 1;
    n++; // the notes have one as well
    if (n > MAX_PREPARED)
        n = MAX_PREPARED;
    if (n > sonde.config.nslots)
        n = sonde.config.nslots;
    bring_in(marks, n * sizeof *marks);
    bring_in(sonde.slots, n * sizeof *sonde.slots);
    for (uint32_t i = 0; i < n; i++) {
        sonde_thread *thread = &sonde.threads[i];
        bring_in(thread, offsetof(sonde_thread, walked_frames[0]));
        bring_in(sonde_walked_frame(thread, 0), 2 * sizeof(uint64_t));
        bring_in(sonde_last_frame(thread, 0), 2 * sizeof(uint64_t));
        bring_in(sonde.rings + (size_t)i * sonde.config.ring_size, PAGE);
    }
    errno = saved;
}

int sonde_session_start(const sonde_config *config, int memfd)
{
    uint64_t rings_at = SONDE_HEADER_SIZE + (uint64_t)config->nslots * SONDE_SLOT_SIZE;
    if (config->magic != SONDE_MAGIC || config->protocol != SONDE_PROTOCOL || !config->nslots ||
        config->nslots > SONDE_MAX_SLOTS || (config->ring_size & (config->ring_size - 1)) ||
        config->ring_size < 4096)
        return EPROTO;
    // Call flow comes last.
    uint64_t area_at = rings_at + (uint64_t)config->nslots * config->ring_size;
    uint64_t flow_size = config->what & SONDE_WHAT_FLOW ? SONDE_FLOW_SIZE : 0;
    if (config->size < area_at + flow_size)
        return EPROTO;
    uint64_t area_size = config->size - flow_size - area_at;
    if (area_size && area_size < sizeof(sonde_probe_area))
        return EPROTO;
    // Access to a mapping beyond the end of its file kills the process.
    struct stat file;
    if (fstat(memfd, &file) != 0)
        return errno;
    if (file.st_size < 0 || (uint64_t)file.st_size < config->size)
        return EPROTO;
    prepare_tables();
    size_t wanted = config->nslots * sizeof(sonde_thread);
    if (sonde.threads && sonde.threads_mapped != wanted) // a forked child has its parent's
        forget_threads();
    if (!sonde.threads) {
        if (!(sonde.threads = reserve(wanted)))
            return ENOMEM;
        madvise(sonde.threads, wanted, MADV_WIPEONFORK);
    }
    sonde.threads_mapped = wanted;
    void *at =
        mmap(NULL, config->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd, 0);
    if (at == MAP_FAILED) {
        int error = errno;
        forget_threads();
        return error;
    }
    // A forked child must never write into its parent's rings. It needs the header, to learn what
    // is ordered now and to be counted if it cannot join.
    madvise((uint8_t *)at + SONDE_HEADER_SIZE, config->size - SONDE_HEADER_SIZE, MADV_DONTFORK);
    sonde.mapped = config->size;
    sonde.header = at;
    sonde.slots = (sonde_slot *)((uint8_t *)at + SONDE_HEADER_SIZE);
    sonde.rings = (uint8_t *)at + rings_at;
    sonde.area = area_size ? (sonde_probe_area *)((uint8_t *)at + area_at) : NULL;
    sonde.area_size = area_size;
    sonde.flow = flow_size ? (uint8_t *)at + area_at + area_size : NULL;
    sonde.flow_size = flow_size;
    sonde.config = *config;
    sonde.armed_tid = 0;
    if (!forked) // most children of a program that forks often are over in a moment
        prepare_slots();
    // The orders are the recorder's; one that has given none yet means what it configured.
    uint64_t no_period = 0;
    if (atomic_compare_exchange_strong(&sonde.header->period_ns, &no_period, config->period_ns))
        atomic_store(&sonde.header->what, config->what);
    if (!forked || !sonde.cpu_read_ns)
        sonde.cpu_read_ns = cost_of_cpu_clock();
    forked = false;
    atomic_store(&sonde.notes_taken, 0);
    sonde.notes = sonde_slot_acquire(SONDE_NOTES_TID);
    sonde.notes_mark = sonde.notes->mark;
    atomic_store(&sonde.header->active, 1);
    if (++last_generation == 0)
        last_generation = 1;
    atomic_store(&sonde.generation, last_generation);
    return 0;
}

void sonde_session_stop(void)
{
    if (!atomic_exchange(&sonde.generation, 0))
        return;
    // Handlers see the ended session before they mark themselves busy, or we see their mark. A
    // handler takes microseconds; its thread may be preempted in it, so we wait.
    struct timespec pause = {0, 50000};
    while (atomic_load(&sonde.acquiring))
        nanosleep(&pause, NULL);
    for (uint32_t i = 0; i < atomic_load(&sonde.header->slots_used); i++)
        while (atomic_load(&marks[i].busy))
            nanosleep(&pause, NULL);
    for (uint32_t i = 0; i < atomic_load(&sonde.header->slots_used); i++)
        close_watches(&sonde.threads[i]);
    atomic_store(&sonde.header->active, 0);
    munmap(sonde.header, sonde.mapped);
    sonde.header = NULL;
    sonde.area = NULL;
    forget_threads();
    give_tables_back();
}

void sonde_session_forked(void)
{
    atomic_store(&sonde.generation, 0);
    atomic_store(&sonde.acquiring, 0);
    parent_header = sonde.header;
    sonde.header = NULL;
    sonde.area = NULL;
    mine.generation = 0;
    memset(marks, 0, atomic_exchange(&marks_used, 0) * sizeof *marks);
    if (sonde.threads) // private pages: clean ones of our own instead of copies of the parent's
        madvise(sonde.threads, sonde.threads_mapped, MADV_DONTNEED);
    forked = true;
}

sonde_orders sonde_parent_orders(void)
{
    sonde_orders orders = {0};
    if (!parent_header)
        return orders;
    orders.what = atomic_load(&parent_header->what);
    orders.period_ns = atomic_load(&parent_header->period_ns);
    for (uint32_t i = 0; i < SONDE_MAX_EVENTS; i++)
        orders.has_events |= atomic_load(&parent_header->event_periods[i]) != 0;
    return orders;
}

void sonde_parent_forget(bool joined)
{
    if (!parent_header)
        return;
    if (!joined)
        atomic_fetch_add(&parent_header->unjoined_children, 1);
    munmap(parent_header, SONDE_HEADER_SIZE);
    parent_header = NULL;
}

static void raise_to(_Atomic uint32_t *at, uint32_t value)
{
    uint32_t used = atomic_load(at);
    while (used < value && !atomic_compare_exchange_weak(at, &used, value))
        ;
}

sonde_thread *sonde_slot_acquire(uint32_t tid)
{
    sonde_header *header = sonde.header;
    uint32_t n = sonde.config.nslots;
    for (uint32_t i = 0; i < n; i++) {
        sonde_slot *slot = &sonde.slots[i];
        uint32_t expected = SONDE_SLOT_FREE;
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) != SONDE_SLOT_FREE)
            continue;
        if (!atomic_compare_exchange_strong(&slot->state, &expected, SONDE_SLOT_USED))
            continue;
        raise_to(&marks_used, i + 1);
        sonde_thread *thread = &sonde.threads[i];
        thread->mark = &marks[i];
        thread->slot = slot;
        thread->ring = (sonde_ring){.slot = slot,
                                    .data = sonde.rings + (size_t)i * sonde.config.ring_size,
                                    .size = sonde.config.ring_size,
                                    .head = atomic_load(&slot->head),
                                    .tail = atomic_load(&slot->tail)};
        memset(thread->armed_by, 0, sizeof thread->armed_by);
        memset(thread->used, 0, sizeof thread->used);
        memset(thread->measures, 0, sizeof thread->measures);
        thread->counts_use = false;
        thread->touched = thread->registers = 0;
        thread->repeats = 0;
        thread->task = 0;
        thread->ticked = thread->ticked_cpu = thread->throttled_until = thread->handled = 0;
        thread->was_expensive = false;
        thread->switches = thread->seen = thread->seen_cpu = 0;
        thread->window = (sonde_window){0};
        thread->depth = thread->same = 0;
        thread->last_stack_size = thread->detached = thread->detached_run = 0;
        thread->walked = (sonde_walked){0};
        close_watches(thread);
        thread->deaths = UINT64_MAX;
        thread->named = false;
        thread->unnamed_walks = 0;
        slot->thread_object = 0;
        // Asking /proc for it would make the kernel walk its entries when the process is reaped.
        slot->birth_ns = tid == sonde.armed_tid ? header->armed_ns : 0;
        slot->claimed_ns = sonde_now();
        // last: the recorder, which zeroes it when it frees a slot, waits for it
        atomic_store_explicit(&slot->tid, tid, memory_order_release);
        raise_to(&header->slots_used, i + 1);
        return thread;
    }
    atomic_fetch_add(&header->no_slot, 1);
    return NULL;
}

SONDE_HOT sonde_thread *sonde_enter(void)
{
    uint32_t generation = atomic_load(&sonde.generation);
    if (!generation)
        return NULL;
    if (mine.generation != generation) {
        if (mine.excluded)
            return NULL;
        atomic_fetch_add(&sonde.acquiring, 1);
        sonde_thread *claimed = NULL;
        if (atomic_load(&sonde.generation) == generation)
            claimed = sonde_slot_acquire((uint32_t)syscall(SYS_gettid));
        if (claimed) {
            mine.thread = claimed;
            mine.mark = claimed->mark;
            mine.generation = generation;
        }
        atomic_fetch_sub(&sonde.acquiring, 1);
        if (!claimed)
            return NULL;
    }
    // A signal that interrupts this thread's own hook must leave the ring alone; the CPU time of
    // the omitted sample goes to the next one.
    if (atomic_load_explicit(&mine.mark->busy, memory_order_relaxed))
        return NULL;
    atomic_store(&mine.mark->busy, 1);
    if (atomic_load(&sonde.generation) != generation) {
        atomic_store(&mine.mark->busy, 0);
        return NULL;
    }
    return mine.thread;
}

void sonde_exclude_current_thread(void) { mine.excluded = true; }

SONDE_HOT void sonde_leave(sonde_thread *thread)
{
    atomic_store_explicit(&thread->mark->busy, 0, memory_order_release);
}

sonde_thread *sonde_notes_enter(void)
{
    uint32_t free_ = 0;
    if (!atomic_load(&sonde.generation) ||
        !atomic_compare_exchange_strong(&sonde.notes_taken, &free_, 1))
        return NULL;
    atomic_store(&sonde.notes_mark->busy, 1);
    if (!atomic_load(&sonde.generation)) {
        sonde_notes_leave();
        return NULL;
    }
    return sonde.notes;
}

sonde_thread *sonde_notes_borrow(void)
{
    sonde_thread *notes = sonde_notes_enter();
    for (int tries = 0; !notes && tries < 1000; tries++) {
        sched_yield();
        notes = sonde_notes_enter();
    }
    return notes;
}

void sonde_notes_leave(void)
{
    atomic_store(&sonde.notes_mark->busy, 0);
    atomic_store(&sonde.notes_taken, 0);
}

SONDE_HOT void sonde_id_cache_refresh(sonde_thread *thread)
{
    // A key on its own thread's stack is alive, so no cached one can die while it is looked up; one
    // that died before has been counted.
    uint64_t deaths = atomic_load_explicit(&sonde.deaths, memory_order_acquire);
    if (thread->deaths == deaths)
        return;
    memset(thread->id_cache, 0, sizeof thread->id_cache);
    thread->deaths = deaths;
}
