#include "core/hooks/preexisting_table.h"

#include "core/hooks/waiter_table.h"

#include <stdatomic.h>
#include <stdint.h>

#define MAX_KEYS 512

static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t waits;
} table[MAX_KEYS];
static _Atomic uint32_t used;
// How many waits have not ended: with none, as almost always, a release pays one load.
static _Atomic uint32_t open_waits;

bool sonde_add_preexisting_wait(const void *pointer)
{
    uint64_t key = (uint64_t)(uintptr_t)pointer;
    uint32_t n = atomic_load(&used);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&table[i].key) == key) {
            atomic_fetch_add(&open_waits, 1);
            atomic_fetch_add(&table[i].waits, 1);
            return true;
        }
    if (n == MAX_KEYS)
        return false;
    // Counted before other threads can see it: they count it down.
    atomic_fetch_add(&open_waits, 1);
    atomic_store(&table[n].key, key);
    atomic_store(&table[n].waits, 1);
    atomic_store(&used, n + 1);
    return true;
}

bool sonde_take_preexisting_wait(const void *pointer)
{
    if (!atomic_load_explicit(&open_waits, memory_order_relaxed))
        return false;
    uint64_t key = (uint64_t)(uintptr_t)pointer;
    uint32_t n = atomic_load_explicit(&used, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load_explicit(&table[i].key, memory_order_relaxed) != key)
            continue;
        uint32_t waits = atomic_load(&table[i].waits);
        while (waits && !atomic_compare_exchange_weak(&table[i].waits, &waits, waits - 1))
            ;
        if (waits)
            atomic_fetch_sub(&open_waits, 1);
        return waits != 0;
    }
    return false;
}

void sonde_end_preexisting_wait(const void *pointer)
{
    if (sonde_take_preexisting_wait(pointer))
        sonde_wait_end(pointer);
}

void sonde_forget_preexisting_waits(void)
{
    for (uint32_t i = 0; i < atomic_load(&used); i++)
        while (atomic_load(&table[i].waits))
            sonde_end_preexisting_wait((const void *)(uintptr_t)atomic_load(&table[i].key));
    atomic_store(&used, 0);
}
