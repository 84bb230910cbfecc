// Who waits for what, so that the holder of a lock knows at release whether a thread waits.
//
// A waiter enters what it waits for before it tries a last time, so a holder that releases after
// that sees it. Lock-free: holders look on every release, and none may wait for a table of waiters.
#ifndef SONDE_CORE_WAITER_TABLE_H
#define SONDE_CORE_WAITER_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uint64_t ready_for; // the key the facts below belong to
    uint64_t lock;              // what the events are about
    uint32_t kind;
    uint32_t last_owner;
    uint64_t last_release;
} sonde_waiter;

// Enters a waiter for `key` (what is called: a semaphore, a condition), about `lock`; NULL if there
// is no room.
sonde_waiter *sonde_wait_begin(const void *key, uint64_t lock, uint32_t kind);
void sonde_wait_end(const void *key);

// How many threads wait for anything: holders read this on every release.
extern _Atomic uint32_t sonde_waiter_count;
static inline bool sonde_anybody_waits(void)
{
    return __builtin_expect(atomic_load_explicit(&sonde_waiter_count, memory_order_relaxed) != 0,
                            0);
}

// The entry of `key` if a thread waits for it.
sonde_waiter *sonde_find_waiter(const void *key);

// A lock can be released hundreds of times before the one that was woken runs: releases by the same
// owner closer together than this are one hold, of which the first release is reported.
#define SONDE_SAME_HOLD_NS 20000u
static inline bool sonde_is_same_hold(const sonde_waiter *entry, uint32_t owner, uint64_t now)
{
    return entry->last_owner == owner && now - entry->last_release < SONDE_SAME_HOLD_NS;
}
static inline void sonde_note_release(sonde_waiter *entry, uint32_t owner, uint64_t now)
{
    entry->last_owner = owner;
    entry->last_release = now;
}

// The next number in the order of events of `lock`, from 1 and without gaps; where there are too
// many locks for that, a number shared by several, with this bit.
#define SONDE_SEQUENCE_SHARED ((uint64_t)1 << 62)
uint64_t sonde_lock_sequence(uint64_t lock);

// In a forked child no thread waits.
void sonde_waiters_forked(void);

#endif
