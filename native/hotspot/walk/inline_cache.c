#include "hotspot/walk/inline_cache.h"

#include "core/base/hash.h"
#include "core/base/hot.h"
#include "core/session/session.h"

// One place in sixteen words: two cache lines, of which the second is rarely looked at.
typedef struct {
    _Atomic uint64_t version; // odd: being written
    _Atomic uint64_t pc, about;
    _Atomic uint64_t words[SONDE_MAX_INLINED];
} entry_t;
#define ENTRIES (SONDE_SITES * sizeof(uint64_t) / sizeof(entry_t))
_Static_assert(sizeof(entry_t) == 128 && !(ENTRIES & (ENTRIES - 1)), "found by shifting");
#define MAX_COUNTED 0xff

// Where calls return to stays the same for long, other places come and go: each has a half. A place
// may be in any entry of its set, so that two that are both needed all the time can be.
#define SET 4u
#define SETS (ENTRIES / 2 / SET)
SONDE_HOT static entry_t *set_of(const sonde_code_place *place)
{
    uint64_t hash = sonde_hash(place->pc);
    uint64_t at = (hash >> 32) % SETS + (place->calls ? SETS : 0);
    return (entry_t *)sonde.sites + at * SET;
}

static uint64_t about(const sonde_code_place *place, unsigned count)
{
    return (uint64_t)(uint32_t)place->number << 32 | (uint64_t)place->calls << 16 | count;
}

SONDE_HOT static bool is_of(entry_t *entry, const sonde_code_place *place)
{
    uint64_t stored = atomic_load_explicit(&entry->about, memory_order_relaxed);
    return atomic_load_explicit(&entry->pc, memory_order_relaxed) == place->pc &&
           stored == about(place, stored & MAX_COUNTED);
}

SONDE_HOT static unsigned read_entry(entry_t *entry, const sonde_code_place *place, uint64_t *words)
{
    uint64_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
    if (version & 1 || !is_of(entry, place))
        return 0;
    unsigned count = atomic_load_explicit(&entry->about, memory_order_relaxed) & MAX_COUNTED;
    for (unsigned i = 0; i < count && count <= SONDE_MAX_INLINED; i++)
        words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&entry->version, memory_order_relaxed) == version ? count : 0;
}

SONDE_HOT unsigned sonde_inline_cache_find(const sonde_code_place *place,
                                           uint64_t words[SONDE_MAX_INLINED])
{
    entry_t *set = set_of(place);
    unsigned count = 0;
    for (unsigned i = 0; i < SET && !count; i++)
        count = read_entry(&set[i], place, words);
    return count;
}

// Its own entry, or one whose code was compiled again since, or one that is free, or any.
static entry_t *entry_for(const sonde_code_place *place)
{
    static _Atomic unsigned turn;
    entry_t *set = set_of(place), *best = NULL;
    for (unsigned i = 0; i < SET; i++) {
        uint64_t pc = atomic_load_explicit(&set[i].pc, memory_order_relaxed);
        if (pc == place->pc)
            return &set[i];
        if (!pc && !best)
            best = &set[i];
    }
    return best ? best : &set[atomic_fetch_add(&turn, 1) % SET];
}

void sonde_inline_cache_add(const sonde_code_place *place, const uint64_t *words, unsigned count)
{
    entry_t *entry = entry_for(place);
    uint64_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);
    if (count > MAX_COUNTED || version & 1 ||
        !atomic_compare_exchange_strong(&entry->version, &version, version + 1))
        return; // another thread writes it just now
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&entry->pc, place->pc, memory_order_relaxed);
    atomic_store_explicit(&entry->about, about(place, count), memory_order_relaxed);
    for (unsigned i = 0; i < count && count <= SONDE_MAX_INLINED; i++)
        atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&entry->version, version + 2, memory_order_release);
}
