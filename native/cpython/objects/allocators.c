#include "cpython/objects/allocators.h"

#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030C0000
static PyMemAllocatorEx *table(PyMemAllocatorDomain domain)
{
    return domain == PYMEM_DOMAIN_RAW   ? &_PyRuntime.allocators.standard.raw
           : domain == PYMEM_DOMAIN_MEM ? &_PyRuntime.allocators.standard.mem
                                        : &_PyRuntime.allocators.standard.obj;
}
#endif

PyMemAllocatorEx sonde_allocator(PyMemAllocatorDomain domain)
{
    PyMemAllocatorEx there;
#if PY_VERSION_HEX >= 0x030C0000
    there = *table(domain);
#else
    PyMem_GetAllocator(domain, &there);
#endif
    return there;
}

bool sonde_allocator_is(PyMemAllocatorDomain domain, const PyMemAllocatorEx *functions)
{
    PyMemAllocatorEx there = sonde_allocator(domain);
    return there.malloc == functions->malloc && there.calloc == functions->calloc &&
           there.realloc == functions->realloc && there.free == functions->free;
}

#if PY_VERSION_HEX >= 0x030C0000
#define EXCHANGE(name)                                                                             \
    __extension__({                                                                                \
        __typeof__(at->name) expected = from->name;                                                \
        __atomic_compare_exchange_n(&at->name, &expected, to->name, false, __ATOMIC_SEQ_CST,       \
                                    __ATOMIC_SEQ_CST);                                             \
    })

int sonde_allocator_exchange(PyMemAllocatorDomain domain, const PyMemAllocatorEx *from,
                             const PyMemAllocatorEx *to)
{
    PyMemAllocatorEx *at = table(domain);
    // Whoever frees must be there before who allocates what it is to know.
    return EXCHANGE(free) + EXCHANGE(realloc) + EXCHANGE(calloc) + EXCHANGE(malloc);
}
#else
int sonde_allocator_exchange(PyMemAllocatorDomain domain, const PyMemAllocatorEx *from,
                             const PyMemAllocatorEx *to)
{
    if (!sonde_allocator_is(domain, from))
        return 0;
    PyMemAllocatorEx there = sonde_allocator(domain);
    there.malloc = to->malloc;
    there.calloc = to->calloc;
    there.realloc = to->realloc;
    there.free = to->free;
    PyMem_SetAllocator(domain, &there);
    return 4;
}
#endif

bool sonde_allocators_are_plain(void)
{
    const char *name = _PyMem_GetCurrentAllocatorName();
    return name && strcmp(name, "pymalloc") == 0;
}

// A block of pymalloc lies at a multiple of its size in a pool, which has the size in its header
// (see session/object_at.c); one of the debug allocator does not, and one of the C library has no
// pool.
#define POOL_BYTES (16u << 10)
#define POOL_HEADER_BYTES 48u
#define SIZE_CLASS_AT 36u
#define TRIAL_BYTES 32u

typedef struct {
    const char *block;
    bool in_pool;
} trial_job;

SONDE_FOREIGN static void look_at_pool(void *arg)
{
    trial_job *job = arg;
    uintptr_t offset = (uintptr_t)job->block & (POOL_BYTES - 1);
    uint32_t size_class;
    memcpy(&size_class, job->block - offset + SIZE_CLASS_AT, sizeof size_class);
    job->in_pool = offset >= POOL_HEADER_BYTES && (offset - POOL_HEADER_BYTES) % TRIAL_BYTES == 0 &&
                   size_class == TRIAL_BYTES / 16 - 1;
}

static bool allocates_in_pools(void)
{
    char *block = PyObject_Malloc(TRIAL_BYTES);
    if (!block)
        return false;
    trial_job job = {block, false};
    bool done = sonde_guard_works_here() && sonde_guard_run(look_at_pool, &job);
    PyObject_Free(block);
    return done && job.in_pool;
}

bool sonde_allocator_is_pymalloc(const char **why)
{
    const char *name = _PyMem_GetCurrentAllocatorName();
    *why = name ? name : "not known";
    if (name)
        return strcmp(name, "pymalloc") == 0;
    switch (_PyRuntime.preconfig.allocator) { // somebody has hooks; what is below them?
    case PYMEM_ALLOCATOR_NOT_SET:
    case PYMEM_ALLOCATOR_DEFAULT:
    case PYMEM_ALLOCATOR_PYMALLOC:
        return allocates_in_pools();
    default:
        return false;
    }
}
