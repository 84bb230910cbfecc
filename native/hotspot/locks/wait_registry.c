#include "hotspot/locks/wait_registry.h"

#include "core/base/clock.h"

#include <stdatomic.h>

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
