#include "cpython/loops/loops.h"

#include "core/session/session.h"
#include "cpython/loops/loop_steps.h"
#include "cpython/loops/method_hooks.h"
#include "cpython/loops/uvloop_hooks.h"

#include <Python.h>

static bool started, watches_exit;

// The interpreter is about to end: no code of the program runs any more.
static void at_exit(void)
{
    if (started && atomic_load(&sonde.generation))
        sonde_steps_report();
}

void sonde_loops_start(void)
{
    if (!(sonde.config.what & SONDE_WHAT_TASKS))
        return;
    sonde_steps_start();
    if (!sonde_methods_hook()) {
        sonde_steps_stop();
        atomic_store(&sonde.header->tasks, SONDE_TASKS_UNKNOWN_METHODS);
        return;
    }
    sonde_uvloop_hook();
    if (!watches_exit)
        watches_exit = Py_AtExit(at_exit) == 0;
    started = true;
    atomic_store(&sonde.header->tasks, SONDE_TASKS_RECORDED);
}

void sonde_loops_stop(void)
{
    if (!started)
        return;
    started = false;
    sonde_uvloop_unhook();
    sonde_methods_unhook();
    sonde_steps_stop();
}

void sonde_loops_forked(bool followed)
{
    if (!started)
        return;
    if (followed) {
        sonde_steps_forked();
        atomic_store(&sonde.header->tasks, SONDE_TASKS_RECORDED);
        return;
    }
    started = false;
    sonde_uvloop_unhook();
    sonde_methods_unhook();
    sonde_steps_abandon();
}
