#define _GNU_SOURCE
#include "cpython/objects/native_memory.h"

#include "core/hooks/got.h"
#include "cpython/objects/object_samples.h"

#include <errno.h>
#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// More than any program allocates: nothing is counted that may not fit into a countdown.
#define MAX_BYTES ((size_t)1 << 46)

// ---- who allocates

#define MAX_LIBRARIES 512
typedef struct {
    uintptr_t start, end;
    char name[48];
} library_t;
static library_t libraries[MAX_LIBRARIES];
static _Atomic uint32_t library_count;

static bool has_part(const char *name, const char *const parts[])
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

// Without version and platform.
static size_t name_length(const char *name)
{
    static const char *const ends[] = {".cpython-", ".abi3.", ".so", NULL};
    size_t length = strnlen(name, sizeof libraries->name - 1);
    for (const char *const *end = ends; *end; end++) {
        const char *at = strstr(name, *end);
        if (at && (size_t)(at - name) < length)
            length = (size_t)(at - name);
    }
    return length;
}

// Not the C library and the loader, whose calls are each other's; not other allocators, which are
// asked by those that are hooked; not the interpreter, whose own allocations are its domain RAW.
static bool is_wanted(const char *file, uintptr_t start, uintptr_t end)
{
    static const char *const none[] = {
        "libc.so",  "ld-linux",  "linux-vdso",  "libpthread.so", "libdl.so", "libm.so",
        "librt.so", "libsonde-", "libpython3.", "jemalloc",      "tcmalloc", "mimalloc",
        "libasan",  "libubsan",  "libtsan",     "libgcc_s",      "memray",   NULL};
    const char *name = strrchr(file, '/');
    name = name ? name + 1 : file;
    uintptr_t interpreter = (uintptr_t)&PyCode_Type;
    if (!*name || has_part(name, none) || (interpreter >= start && interpreter < end))
        return false;
    uint32_t count = atomic_load(&library_count);
    for (uint32_t i = 0; i < count; i++)
        if (libraries[i].start == start && libraries[i].end == end)
            return false; // it has its hooks
    if (count == MAX_LIBRARIES)
        return false;
    library_t *library = &libraries[count];
    library->start = start;
    library->end = end;
    size_t length = name_length(name);
    memcpy(library->name, name, length);
    library->name[length] = 0;
    atomic_store(&library_count, count + 1); // one at a time hooks
    return true;
}

static const char *library_of(const void *caller)
{
    uint32_t count = atomic_load(&library_count);
    for (uint32_t i = count; i > 0; i--) // one loaded later may lie where one was unloaded
        if ((uintptr_t)caller - libraries[i - 1].start <
            libraries[i - 1].end - libraries[i - 1].start)
            return libraries[i - 1].name;
    return "library";
}

// ---- hooks

static bool counts(size_t n) { return n <= MAX_BYTES && sonde_counts(SONDE_LARGE, n); }

__attribute__((noinline)) static void allocated(uintptr_t at, size_t n, const void *caller)
{
    int saved = errno;
    if (sonde_object_due(SONDE_LARGE, n))
        sonde_object_sampled((const void *)at, n, SONDE_LARGE, SONDE_BY_BUFFERS,
                             library_of(caller));
    errno = saved;
}

static void *on_malloc(size_t n)
{
    if (!counts(n))
        return malloc(n);
    void *at = malloc(n);
    allocated((uintptr_t)at, n, __builtin_return_address(0));
    return at;
}

static void *on_calloc(size_t count, size_t each)
{
    size_t n;
    if (__builtin_mul_overflow(count, each, &n) || !counts(n))
        return calloc(count, each);
    void *at = calloc(count, each);
    allocated((uintptr_t)at, n, __builtin_return_address(0));
    return at;
}

static void *on_realloc(void *from, size_t n)
{
    bool counted = counts(n), known = from && sonde_may_be_sampled(from);
    if (!counted && !known)
        return realloc(from, n);
    sonde_block block;
    bool moving = known && sonde_object_moving(from, &block);
    uintptr_t former = (uintptr_t)from;
    void *at = realloc(from, n);
    int saved = errno;
    if (moving)
        sonde_object_moved(former, &block, !at && n);
    if (counted)
        allocated((uintptr_t)at, n, __builtin_return_address(0));
    errno = saved;
    return at;
}

static int on_posix_memalign(void **at, size_t alignment, size_t n)
{
    int error = posix_memalign(at, alignment, n);
    if (!error && counts(n))
        allocated((uintptr_t)*at, n, __builtin_return_address(0));
    return error;
}

static void *on_aligned_alloc(size_t alignment, size_t n)
{
    void *at = aligned_alloc(alignment, n);
    if (at && counts(n))
        allocated((uintptr_t)at, n, __builtin_return_address(0));
    return at;
}

static void on_free(void *at)
{
    if (__builtin_expect(sonde_may_be_sampled(at), 0))
        sonde_object_freed(at);
    free(at);
}

// Files in memory are no memory of the program's own, nor is what may not be written.
static void *on_mmap(void *wish, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *at = mmap(wish, n, protection, flags, fd, offset);
    if (at != MAP_FAILED && (flags & MAP_ANONYMOUS) && (protection & PROT_WRITE) && counts(n))
        allocated((uintptr_t)at, n, __builtin_return_address(0));
    return at;
}

static int on_munmap(void *at, size_t n)
{
    if (__builtin_expect(sonde_may_be_sampled(at), 0))
        sonde_object_freed(at);
    return munmap(at, n);
}

static const sonde_hook hooks[] = {
    {"malloc", (void *)on_malloc},
    {"calloc", (void *)on_calloc},
    {"realloc", (void *)on_realloc},
    {"posix_memalign", (void *)on_posix_memalign},
    {"aligned_alloc", (void *)on_aligned_alloc},
    {"free", (void *)on_free},
    {"mmap", (void *)on_mmap},
    {"mmap64", (void *)on_mmap},
    {"munmap", (void *)on_munmap},
};

void sonde_native_memory_hook(void)
{
    sonde_got_hook_all(is_wanted, hooks, sizeof hooks / sizeof *hooks);
}

void sonde_native_memory_unhook(void)
{
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        sonde_got_unhook_one(hooks[i].hook);
    atomic_store(&library_count, 0);
}
