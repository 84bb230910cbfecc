#include "core/hooks/library_loads.h"

#include "core/hooks/got.h"
#include "core/session/session.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_WATCHERS 4
static sonde_library_loaded *_Atomic watchers[MAX_WATCHERS];
static const void *_Atomic interpreter;

static const char ctypes_module[] = "/_ctypes.";

void sonde_library_loads_watch(sonde_library_loaded *loaded)
{
    for (int i = 0; i < MAX_WATCHERS; i++)
        if (atomic_load(&watchers[i]) == loaded)
            return;
    for (int i = 0; i < MAX_WATCHERS; i++) {
        sonde_library_loaded *none = NULL;
        if (atomic_compare_exchange_strong(&watchers[i], &none, loaded))
            return;
    }
}

void sonde_library_loads_leave(sonde_library_loaded *loaded)
{
    for (int i = 0; i < MAX_WATCHERS; i++) {
        sonde_library_loaded *it = loaded;
        atomic_compare_exchange_strong(&watchers[i], &it, NULL);
    }
}

static void *on_dlopen(const char *file, int flags)
{
    // Where a name without a folder is looked for depends on who calls dlopen: this is a jump.
    if (!file || !strchr(file, '/'))
        return dlopen(file, flags);
    void *handle = dlopen(file, flags);
    // Not after the end, when the hooks were taken out.
    if (!handle || !atomic_load(&sonde.generation))
        return handle;
    if (strstr(file, ctypes_module))
        sonde_library_loads_hook(atomic_load(&interpreter));
    for (int i = 0; i < MAX_WATCHERS; i++) {
        sonde_library_loaded *loaded = atomic_load(&watchers[i]);
        if (loaded)
            loaded(file);
    }
    return handle;
}

void sonde_library_loads_hook(const void *inside)
{
    static const sonde_hook hooks[] = {{"dlopen", (void *)on_dlopen}};
    atomic_store(&interpreter, inside);
    sonde_got_hook(inside, NULL, hooks, 1);
    sonde_got_hook(NULL, ctypes_module, hooks, 1);
}
