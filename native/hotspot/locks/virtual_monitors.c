#define _GNU_SOURCE
#include "hotspot/locks/virtual_monitors.h"

#include "core/hooks/waiter_table.h"
#include "core/session/shm.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAVES_FROM 24

bool sonde_virtual_leaves(uint64_t number)
{
    return number && sonde_vm.version_hex >> 24 >= LEAVES_FROM;
}

// ---- which threads wait for what, and its holder as far as it is known

#define PLACES 256u
static struct {
    _Atomic uint64_t number; // of the virtual thread; 0: free
    _Atomic uint64_t lock;   // 0: not yet
    _Atomic uint64_t monitor, owner;
    _Atomic uint32_t kind;
} places[PLACES];
static _Atomic uint32_t places_used; // those above were never taken

static const void *key_of(uint64_t lock) { return (const void *)(uintptr_t)lock; }

void sonde_virtual_monitor_begin(uint64_t number, uint64_t lock, uint32_t kind)
{
    const void *record;
    if (!sonde_vm_thread(&record))
        return;
    // In Object.wait it is the thread's own until it sleeps, and not said to be pending.
    uint64_t monitor = kind == SONDE_KIND_MONITOR ? sonde_record_pending(record) : 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        uint64_t none = 0;
        if (atomic_load_explicit(&places[i].number, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&places[i].number, &none, number))
            continue;
        if (!sonde_wait_begin(key_of(lock), lock, kind)) {
            atomic_store(&places[i].number, 0);
            return;
        }
        atomic_store(&places[i].monitor, monitor);
        atomic_store(&places[i].owner, monitor ? sonde_monitor_owner(monitor) : 0);
        atomic_store(&places[i].kind, kind);
        atomic_store_explicit(&places[i].lock, lock, memory_order_release);
        uint32_t used = atomic_load(&places_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&places_used, &used, i + 1))
            ;
        return;
    }
}

void sonde_virtual_monitors_forget(void)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++) {
        uint64_t lock = atomic_exchange(&places[i].lock, 0);
        if (lock)
            sonde_wait_end(key_of(lock));
        atomic_store(&places[i].number, 0);
    }
}

static void set_owner(uint64_t lock, uint64_t owner)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) == lock)
            atomic_store(&places[i].owner, owner);
}

void sonde_virtual_monitor_end(uint64_t number, uint64_t lock)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load(&places[i].number) == number && atomic_load(&places[i].lock) == lock) {
            bool enters = atomic_load(&places[i].kind) == SONDE_KIND_MONITOR;
            atomic_store(&places[i].lock, 0);
            atomic_store(&places[i].number, 0);
            sonde_wait_end(key_of(lock));
            if (enters)
                set_owner(lock, number & ~SONDE_VIRTUAL);
            return;
        }
}

uint64_t sonde_virtual_monitor_of(uint64_t number, uint32_t *kind)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].number, memory_order_relaxed) == number) {
            *kind = atomic_load(&places[i].kind);
            return atomic_load(&places[i].lock);
        }
    return 0;
}

// ---- the thread that wakes them (VirtualThread-unblocker, 24 to 25), known by its number only
// when it waits already: so what all threads of such a name wait for last is remembered

#define CANDIDATES 8
#define LOOKS 4
static const char name_begins[] = "Virtual"; // in the kernel, which has 15 characters of it
static struct {
    _Atomic uint32_t tid;
    _Atomic(pthread_cond_t *) cond;
} candidates[CANDIDATES];
static _Atomic uint32_t waker;
static _Thread_local struct {
    uint32_t looks, place; // one more than that of the candidate; 0: none
} me __attribute__((tls_model("initial-exec")));

void sonde_virtual_waker_is(uint32_t tid) { atomic_store(&waker, tid); }

static void is_candidate(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (strncmp(name, name_begins, strlen(name_begins)) != 0)
        return;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < CANDIDATES && !me.place; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&candidates[i].tid, &none, tid))
            me.place = i + 1;
    }
}

void sonde_virtual_waker_waits(pthread_cond_t *cond)
{
    // It gets its name only after it was started, which it waits for as well.
    if (!me.place && me.looks < LOOKS) {
        me.looks++;
        is_candidate();
    }
    if (me.place)
        atomic_store(&candidates[me.place - 1].cond, cond);
}

static bool is_of_waker(const pthread_cond_t *cond)
{
    uint32_t tid = atomic_load_explicit(&waker, memory_order_relaxed);
    // It waits for a thread that it starts as well, and then signals it by the same condition.
    if (me.place && atomic_load(&candidates[me.place - 1].tid) == tid)
        return false;
    for (uint32_t i = 0; tid && i < CANDIDATES; i++)
        if (atomic_load_explicit(&candidates[i].tid, memory_order_relaxed) == tid)
            return atomic_load_explicit(&candidates[i].cond, memory_order_relaxed) == cond;
    return false;
}

// ---- releases

typedef struct {
    uint64_t me;
    sonde_release *found;
    uint32_t count;
} search;

static bool is_in(const sonde_release *found, uint32_t count, uint64_t lock)
{
    for (uint32_t i = 0; i < count; i++)
        if (found[i].lock == lock)
            return true;
    return false;
}

// A monitor that the caller held, and does not hold any more, is released. One whose owner was not
// known may be; if there is no other, it is.
static void search_body(void *arg)
{
    search *s = arg;
    sonde_release possible[2] = {{0, 0}, {0, 0}};
    uint32_t possibles = 0;
    for (uint32_t i = 0; i < atomic_load(&places_used) && s->count < SONDE_MAX_RELEASES; i++) {
        uint64_t lock = atomic_load_explicit(&places[i].lock, memory_order_acquire);
        if (!lock || is_in(s->found, s->count, lock))
            continue;
        uint64_t monitor = atomic_load(&places[i].monitor), owner = atomic_load(&places[i].owner);
        uint64_t now = monitor ? sonde_monitor_owner(monitor) : 0;
        uint32_t kind = atomic_load(&places[i].kind);
        if (monitor && now == s->me)
            continue; // still holds it
        if (owner && owner == s->me)
            s->found[s->count++] = (sonde_release){lock, kind};
        else if ((!owner || now != owner) && possibles < 2 && !is_in(possible, possibles, lock))
            possible[possibles++] = (sonde_release){lock, kind};
    }
    if (!s->count && possibles == 1)
        s->found[s->count++] = possible[0];
}

uint32_t sonde_virtual_releases(const pthread_cond_t *cond, const void *record,
                                sonde_release found[SONDE_MAX_RELEASES])
{
    if (!is_of_waker(cond))
        return 0;
    search s = {sonde_record_owner_id(record), found, 0};
    if (!s.me || !sonde_guard_run_unchecked(search_body, &s))
        return 0;
    for (uint32_t i = 0; i < s.count; i++)
        set_owner(found[i].lock, 0);
    return s.count;
}
