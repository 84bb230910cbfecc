#include "hotspot/locks/notifications.h"

#include "core/base/hash.h"
#include "core/hooks/waiter_table.h"

#include <sched.h>
#include <stdatomic.h>

// A word is a lock and what is known; the rest is of who is entered there. All that wait for the
// conditions of one lock are near each other.
#define PLACES_BITS 11
#define PLACES (1u << PLACES_BITS)
#define NEAR 256u
enum { FREE, ENTERING, WAITING, NOTIFYING, NOTIFIED };
static _Atomic uint64_t words[PLACES];
static struct {
    sonde_condition_waiter who;
    sonde_notice notice;
} waiters[PLACES];
static _Atomic uint32_t waiting;

static uint64_t word_of(uint64_t lock, unsigned state) { return lock << 8 | state; }

static uint32_t place_of(uint64_t lock, uint32_t i)
{
    uint32_t start = sonde_hash_place(lock, PLACES_BITS);
    return (start + i) & (PLACES - 1);
}

uint32_t sonde_notice_wait(const sonde_condition_waiter *waiter)
{
    for (uint32_t i = 0; i < NEAR; i++) {
        uint32_t place = place_of(waiter->lock, i);
        uint64_t none = FREE;
        if (atomic_load_explicit(&words[place], memory_order_relaxed) != FREE ||
            !atomic_compare_exchange_strong(&words[place], &none, ENTERING))
            continue;
        waiters[place].who = *waiter;
        waiters[place].notice = (sonde_notice){0};
        atomic_fetch_add(&waiting, 1);
        atomic_store_explicit(&words[place], word_of(waiter->lock, WAITING), memory_order_release);
        return place;
    }
    return SONDE_NO_NOTICE;
}

sonde_notice sonde_notice_take(uint32_t place, const void *key)
{
    sonde_notice none = {0};
    // One of an earlier session, which has been forgotten?
    if (place == SONDE_NO_NOTICE || waiters[place].who.key != key)
        return none;
    for (;;) {
        uint64_t word = atomic_load_explicit(&words[place], memory_order_acquire);
        unsigned state = word & 0xff;
        if (state < WAITING)
            return none;
        if (state == NOTIFYING) { // some instructions away from having done so
            sched_yield();
            continue;
        }
        sonde_notice notice = waiters[place].notice;
        if (!atomic_compare_exchange_strong(&words[place], &word, FREE))
            continue;
        atomic_fetch_sub(&waiting, 1);
        return state == NOTIFIED ? notice : none;
    }
}

bool sonde_notice_has_waiter(uint64_t lock)
{
    if (!atomic_load_explicit(&waiting, memory_order_relaxed))
        return false;
    for (uint32_t i = 0; i < NEAR; i++)
        if (atomic_load_explicit(&words[place_of(lock, i)], memory_order_relaxed) >> 8 == lock)
            return true;
    return false;
}

// The release that ends waits for this condition has to be reported, once, and before they end.
// False: there are too many conditions.
static bool add_release(sonde_notified *found, uint64_t condition)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->exits[i].condition == condition)
            return true;
    if (found->count == SONDE_MAX_CONDITIONS)
        return false;
    found->exits[found->count].condition = condition;
    found->exits[found->count++].sequence = sonde_lock_sequence(condition);
    return true;
}

sonde_notified sonde_notify(uint64_t lock, const void *key, uint64_t now, sonde_was_notified *was,
                            void *arg)
{
    sonde_notified found = {0};
    if (!atomic_load_explicit(&waiting, memory_order_relaxed))
        return found;
    for (uint32_t i = 0; i < NEAR; i++) {
        uint32_t place = place_of(lock, i);
        const sonde_condition_waiter *who = &waiters[place].who;
        uint64_t word = atomic_load_explicit(&words[place], memory_order_acquire);
        if (word == word_of(lock, NOTIFIED) && who->key == key)
            found.before = true;
        if (word != word_of(lock, WAITING) || !was(who, arg) ||
            !atomic_compare_exchange_strong(&words[place], &word, word_of(lock, NOTIFYING)))
            continue;
        if (!add_release(&found, who->condition)) {
            atomic_store_explicit(&words[place], word_of(lock, WAITING), memory_order_release);
            continue;
        }
        bool next = who->key == key;
        found.next |= next;
        found.contends |= !next;
        waiters[place].notice = (sonde_notice){now, sonde_lock_sequence(who->condition),
                                               next ? 0 : sonde_lock_sequence(lock)};
        atomic_store_explicit(&words[place], word_of(lock, NOTIFIED), memory_order_release);
    }
    return found;
}

void sonde_notices_forget(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        atomic_store(&words[i], FREE);
    atomic_store(&waiting, 0);
}
