#include "hotspot/locks/wait_registry.h"

#include "core/base/clock.h"
#include "core/hooks/waiter_table.h"

#include <stdatomic.h>

// ---- waits that go on

#define PLACES 4096u
#define LONG_NS 1000000000u
static struct {
    _Atomic uint64_t lock; // 0: free
    uint64_t since;
    _Atomic bool reported; // who holds it
} places[PLACES];
static _Atomic uint32_t places_used; // those above were never taken

uint32_t sonde_wait_registry_add(uint64_t lock)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        uint64_t none = 0;
        if (atomic_load_explicit(&places[i].lock, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&places[i].lock, &none, ~(uint64_t)0))
            continue;
        places[i].since = sonde_now();
        atomic_store(&places[i].reported, false);
        atomic_store_explicit(&places[i].lock, lock, memory_order_release);
        uint32_t used = atomic_load(&places_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&places_used, &used, i + 1))
            ;
        return i;
    }
    return PLACES;
}

void sonde_wait_registry_remove(uint32_t place)
{
    if (place < PLACES)
        atomic_store_explicit(&places[place].lock, 0, memory_order_release);
}

bool sonde_wait_registry_is_due(uint64_t lock, uint64_t now)
{
    bool due = false;
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) == lock &&
            now - places[i].since >= LONG_NS && !atomic_exchange(&places[i].reported, true))
            due = true;
    return due;
}

bool sonde_wait_registry_any_due(uint64_t now)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) + 1 > 1 &&
            !atomic_load(&places[i].reported) && now - places[i].since >= LONG_NS)
            return true;
    return false;
}

bool sonde_wait_registry_has(uint64_t lock)
{
    for (uint32_t i = 0; i < atomic_load(&places_used); i++)
        if (atomic_load_explicit(&places[i].lock, memory_order_acquire) == lock)
            return true;
    return false;
}

// ---- waits from before the session that will not tell their end

#define MAX_FOUND 512
static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t waits;
} found[MAX_FOUND];
static _Atomic uint32_t found_used;

bool sonde_add_preexisting_wait(const void *pointer)
{
    uint64_t key = (uint64_t)(uintptr_t)pointer;
    uint32_t n = atomic_load(&found_used);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&found[i].key) == key) {
            atomic_fetch_add(&found[i].waits, 1);
            return true;
        }
    if (n == MAX_FOUND)
        return false;
    atomic_store(&found[n].key, key);
    atomic_store(&found[n].waits, 1);
    atomic_store(&found_used, n + 1);
    return true;
}

bool sonde_take_preexisting_wait(uint64_t lock)
{
    uint32_t n = atomic_load_explicit(&found_used, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load_explicit(&found[i].key, memory_order_relaxed) != lock)
            continue;
        uint32_t waits = atomic_load(&found[i].waits);
        while (waits && !atomic_compare_exchange_weak(&found[i].waits, &waits, waits - 1))
            ;
        return waits != 0;
    }
    return false;
}

void sonde_end_preexisting_wait(const void *pointer)
{
    if (sonde_take_preexisting_wait((uint64_t)(uintptr_t)pointer))
        sonde_wait_end(pointer);
}

void sonde_forget_preexisting_waits(void)
{
    for (uint32_t i = 0; i < atomic_load(&found_used); i++)
        while (atomic_load(&found[i].waits))
            sonde_end_preexisting_wait((const void *)(uintptr_t)atomic_load(&found[i].key));
    atomic_store(&found_used, 0);
}
