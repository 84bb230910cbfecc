#include "cpython/objects/allocation_hooks.h"

#include "cpython/objects/allocators.h"
#include "cpython/objects/object_samples.h"

// What pymalloc serves itself; more it passes on.
#define SMALL_BYTES 512u
// More than any program allocates: nothing is counted that may not fit into a countdown.
#define MAX_BYTES ((size_t)1 << 46)

// What was there before. Kept while a hook of ours may be called, which another tool above it may
// do for ever.
static PyMemAllocatorEx obj, mem, raw;

// ---- small blocks

__attribute__((noinline)) static void *small(const PyMemAllocatorEx *below, size_t n, bool zeroed,
                                             int by)
{
    if (!sonde_object_due(SONDE_SMALL, n))
        return zeroed ? below->calloc(below->ctx, 1, n) : below->malloc(below->ctx, n);
    void *at = zeroed ? raw.calloc(raw.ctx, 1, n) : raw.malloc(raw.ctx, n);
    sonde_object_sampled(at, n, SONDE_SMALL, by, NULL);
    return at;
}

// What a small block is reallocated to is not counted: it cannot be diverted, since only pymalloc
// knows how much there is to copy.
#define DOMAIN(name, by)                                                                           \
    static void *name##_malloc(void *context, size_t n)                                            \
    {                                                                                              \
        if (n > SMALL_BYTES || !sonde_counts(SONDE_SMALL, n))                                      \
            return name.malloc(context, n);                                                        \
        return small(&name, n, false, by);                                                         \
    }                                                                                              \
    static void *name##_calloc(void *context, size_t count, size_t each)                           \
    {                                                                                              \
        size_t n;                                                                                  \
        if (__builtin_mul_overflow(count, each, &n) || n > SMALL_BYTES ||                          \
            !sonde_counts(SONDE_SMALL, n))                                                         \
            return name.calloc(context, count, each);                                              \
        return small(&name, n, true, by);                                                          \
    }                                                                                              \
    static void *name##_realloc(void *context, void *at, size_t n)                                 \
    {                                                                                              \
        if (at || n > SMALL_BYTES || !sonde_counts(SONDE_SMALL, n))                                \
            return name.realloc(context, at, n);                                                   \
        return small(&name, n, false, by);                                                         \
    }

DOMAIN(obj, SONDE_BY_OBJECTS)
DOMAIN(mem, SONDE_BY_BUFFERS)

// ---- large blocks, and the ends of all

static void *raw_malloc(void *context, size_t n)
{
    if (n > MAX_BYTES || !sonde_counts(SONDE_LARGE, n))
        return raw.malloc(context, n);
    bool due = sonde_object_due(SONDE_LARGE, n);
    void *at = raw.malloc(context, n);
    if (due)
        sonde_object_sampled(at, n, SONDE_LARGE, SONDE_BY_OBJECTS, NULL);
    return at;
}

static void *raw_calloc(void *context, size_t count, size_t each)
{
    size_t n;
    if (__builtin_mul_overflow(count, each, &n) || n > MAX_BYTES || !sonde_counts(SONDE_LARGE, n))
        return raw.calloc(context, count, each);
    bool due = sonde_object_due(SONDE_LARGE, n);
    void *at = raw.calloc(context, count, each);
    if (due)
        sonde_object_sampled(at, n, SONDE_LARGE, SONDE_BY_OBJECTS, NULL);
    return at;
}

// A block that grows is a new one, and its old one has ended.
__attribute__((noinline)) static void *move(void *context, void *from, size_t n, bool counted)
{
    bool due = counted && sonde_object_due(SONDE_LARGE, n);
    sonde_block block;
    bool moving = from && sonde_object_moving(from, &block);
    void *at = raw.realloc(context, from, n);
    if (moving)
        sonde_object_moved((uintptr_t)from, &block, !at);
    if (due)
        sonde_object_sampled(at, n, SONDE_LARGE, SONDE_BY_OBJECTS, NULL);
    return at;
}

static void *raw_realloc(void *context, void *from, size_t n)
{
    bool counted = n <= MAX_BYTES && sonde_counts(SONDE_LARGE, n);
    if (!counted && !(from && sonde_may_be_sampled(from)))
        return raw.realloc(context, from, n);
    return move(context, from, n, counted);
}

static void raw_free(void *context, void *at)
{
    if (__builtin_expect(sonde_may_be_sampled(at), 0))
        sonde_object_freed(at);
    raw.free(context, at);
}

// ---- in and out

typedef struct {
    PyMemAllocatorDomain domain;
    PyMemAllocatorEx *below; // what was there before
    PyMemAllocatorEx ours;
    bool placed; // a hook of ours may be called
} place_t;

static place_t places[] = {
    {PYMEM_DOMAIN_RAW, &raw, {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free}, false},
    {PYMEM_DOMAIN_MEM, &mem, {NULL, mem_malloc, mem_calloc, mem_realloc, NULL}, false},
    {PYMEM_DOMAIN_OBJ, &obj, {NULL, obj_malloc, obj_calloc, obj_realloc, NULL}, false},
};
#define PLACES (sizeof places / sizeof *places)

// Ours may stay below another tool's hooks; there they are called as they are, and put in once more
// they would make a ring.
static void put_in(place_t *place)
{
    if (!place->placed)
        place->placed = sonde_allocator_exchange(place->domain, place->below, &place->ours) > 0;
}

static void take_out(place_t *place)
{
    if (!place->placed)
        return;
    sonde_allocator_exchange(place->domain, &place->ours, place->below);
    place->placed = !sonde_allocator_is(place->domain, place->below);
}

bool sonde_allocation_hooks_start(bool in_windows)
{
    const char *allocator;
    if (!sonde_allocator_is_pymalloc(&allocator))
        return false;
    bool plain = sonde_allocators_are_plain(); // then whoever was above ours has left
    for (size_t i = 0; i < PLACES; i++) {
        place_t *place = &places[i];
        place->placed &= !plain;
        PyMemAllocatorEx there = sonde_allocator(place->domain);
        // The interpreter takes its own allocator for a moment when it begins and ends, and puts
        // back what it found: that may have been ours.
        place->placed |= there.malloc == place->ours.malloc || there.calloc == place->ours.calloc ||
                         there.realloc == place->ours.realloc;
        if (place->placed)
            continue;
        *place->below = there;
        if (place->domain != PYMEM_DOMAIN_RAW)
            place->ours.free = place->below->free;
        if (place->domain == PYMEM_DOMAIN_RAW || !in_windows)
            put_in(place);
    }
    return true;
}

void sonde_allocation_hooks_stop(void)
{
    for (size_t i = PLACES; i > 0; i--)
        take_out(&places[i - 1]);
}

void sonde_allocation_window(bool open)
{
    for (size_t i = PLACES - 1; i > 0; i--) {
        if (open)
            put_in(&places[i]);
        else
            take_out(&places[i]);
    }
}
