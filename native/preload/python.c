// An interpreter asks for its locale before it does anything else, from the object that carries it:
// the executable, a library that this is linked with, or one that a program loads later and under
// any name (PyInstaller, plugins, RTLD_LOCAL). There we register an audit hook; the first audit
// event after initialisation is the earliest moment at which the interpreter is whole and no line
// of the program has run. (setlocale(LC_CTYPE, NULL) in _PyPreConfig_Read: 3.11 to 3.15)
//
// The interpreter chooses its allocators after that (PYTHONMALLOC, -X dev) and frees the hook's
// entry with them at its end. So the entry is replaced by one of the chosen allocator at the first
// event. The program cannot notice: no audit event is raised for it.
#define _GNU_SOURCE
#include "preload/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef int audit_hook(const char *event, void *args, void *data);

typedef struct entry { // _Py_AuditHookEntry, 3.8 to 3.15
    struct entry *next;
    audit_hook *function;
    void *data;
} entry_t;

typedef struct { // PyMemAllocatorEx
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} allocator_t;

enum { DOMAIN_RAW };

static struct {
    void *(*raw_malloc)(size_t);
    void (*raw_free)(void *);
    int (*is_initialized)(void);
    char object[4096]; // the file that carries the interpreter; empty: the executable
    char runtime[64];
} python;

static const sonde_python_ops *ops;
static bool is_registered, is_up;
// The entry that was registered, and what in the interpreter points to it until it is replaced. A
// thread that walks the hooks may still be at it, so it lives until the next one.
static entry_t *first, **pointer_to_first;

static void *open_object(void)
{
    return dlopen(python.object[0] ? python.object : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

static void replace_first(void)
{
    entry_t *own = python.raw_malloc(sizeof *own), *expected = first;
    if (!own)
        return;
    *own = *first;
    if (!__atomic_compare_exchange_n(pointer_to_first, &expected, own, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        python.raw_free(own);
    pointer_to_first = NULL;
}

static void come_up(void)
{
    is_up = true;
    void *library = open_object();
    if (!library)
        return;
    ops->initialized(python.runtime, library);
    dlclose(library); // it goes when the program wants it to
}

static int on_audit(const char *event, void *args, void *unused)
{
    (void)unused;
    if (pointer_to_first)
        replace_first();
    if (is_up)
        ops->audited(event, args);
    else if (python.is_initialized())
        come_up();
    // Hooks are removed after this. An interpreter that is initialised again calls setlocale again.
    if (event[0] == 'c' && !strcmp(event, "cpython._PySys_ClearAuditHooks"))
        is_registered = is_up = false;
    return 0;
}

// ---- registration

static void *malloc_first(void *context, size_t size)
{
    (void)context;
    first = malloc(size);
    return first;
}

// Where in the interpreter's state the list of hooks begins depends on its version.
static entry_t **find_pointer(void *runtime_state)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(runtime_state, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return NULL;
    entry_t **at = runtime_state, **end = at + symbol->st_size / sizeof *at;
    while (at < end && *at != first)
        at++;
    return at < end ? at : NULL;
}

static bool add_hook(void *library)
{
    typedef void exchange_allocator(int domain, allocator_t *allocator);
    int (*add)(audit_hook *, void *) =
        (int (*)(audit_hook *, void *))dlsym(library, "PySys_AddAuditHook");
    exchange_allocator *get = (exchange_allocator *)dlsym(library, "PyMem_GetAllocator"),
                       *set = (exchange_allocator *)dlsym(library, "PyMem_SetAllocator");
    void *runtime_state = dlsym(library, "_PyRuntime");
    *(void **)&python.raw_malloc = dlsym(library, "PyMem_RawMalloc");
    *(void **)&python.raw_free = dlsym(library, "PyMem_RawFree");
    *(void **)&python.is_initialized = dlsym(library, "Py_IsInitialized");
    if (!add || !get || !set || !runtime_state || !python.raw_malloc || !python.raw_free ||
        !python.is_initialized || python.is_initialized())
        return false;
    allocator_t users, ours;
    get(DOMAIN_RAW, &users);
    ours = users;
    ours.malloc = malloc_first;
    free(first);
    first = NULL;
    set(DOMAIN_RAW, &ours);
    bool added = add(on_audit, NULL) == 0;
    set(DOMAIN_RAW, &users);
    pointer_to_first = added && first ? find_pointer(runtime_state) : NULL;
    return added;
}

static bool know_version(void *library)
{
    const unsigned long *version = dlsym(library, "Py_Version"); // 3.11+
    const char *(*text)(void) = (const char *(*)(void))dlsym(library, "Py_GetVersion");
    // The same version without the GIL has other structures, and no agent yet.
    if (!version || !text || strstr(text(), "free-threading"))
        return false;
    snprintf(python.runtime, sizeof python.runtime, "cpython-%lu.%lu", *version >> 24 & 0xff,
             *version >> 16 & 0xff);
    return ops->is_known(python.runtime);
}

static void on_locale_asked_for(void *by)
{
    Dl_info info;
    struct link_map *map;
    if (!dladdr1(by, &info, (void **)&map, RTLD_DL_LINKMAP) ||
        strlen(map->l_name) >= sizeof python.object)
        return;
    strcpy(python.object, map->l_name);
    void *library = open_object();
    if (!library)
        return;
    is_registered = know_version(library) && add_hook(library);
    dlclose(library);
}

void sonde_python_expect(const sonde_python_ops *given) { ops = given; }

EXPORT char *setlocale(int category, const char *locale)
{
    static char *(*real)(int, const char *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "setlocale");
    if (ops && !is_registered && category == LC_CTYPE && !locale) {
        int saved = errno;
        on_locale_asked_for(__builtin_return_address(0));
        errno = saved;
    }
    return real(category, locale);
}
