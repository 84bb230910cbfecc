#include "cpython/loops/uvloop_hooks.h"

#include "core/hooks/got.h"
#include "core/hooks/library_loads.h"
#include "cpython/loops/asyncio_types.h"
#include "cpython/loops/loop_steps.h"

#include <Python.h>
#include <string.h>

static const char library[] = "/uvloop/loop.";

static int on_enter(PyObject *context)
{
    int result = PyContext_Enter(context);
    sonde_asyncio_find();
    if (!result)
        sonde_step_begin_taken();
    return result;
}

static int on_exit_(PyObject *context)
{
    sonde_step_end_taken();
    return PyContext_Exit(context);
}

static const sonde_hook hooks[] = {{"PyContext_Enter", (void *)on_enter},
                                   {"PyContext_Exit", (void *)on_exit_}};

static void library_loaded(const char *file)
{
    if (strstr(file, library))
        sonde_got_hook(NULL, library, hooks, sizeof hooks / sizeof *hooks);
}

void sonde_uvloop_hook(void)
{
    library_loaded(library);
    sonde_library_loads_watch(library_loaded);
    sonde_library_loads_hook(&PyCode_Type);
}

void sonde_uvloop_unhook(void)
{
    sonde_library_loads_leave(library_loaded);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        sonde_got_unhook_one(hooks[i].hook);
}
