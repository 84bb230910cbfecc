#define _GNU_SOURCE
#include "cpython/probes/probe_session.h"

#include "core/base/clock.h"
#include "core/base/worker.h"
#include "core/session/session.h"
#include "cpython/frames/frames.h"
#include "cpython/probes/line_probes.h"
#include "cpython/probes/step_trace.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 200000000L

static bool started;
static _Atomic bool stopping;

// ---- the thread

static void *await_orders(void *unused);
static void wake(void);
static uint8_t worker_stack[128 << 10] __attribute__((aligned(64)));
static sonde_worker worker = {.name = SONDE_THREAD_PREFIX "probes",
                              .body = await_orders,
                              .wake = wake,
                              .stack = worker_stack,
                              .stack_size = sizeof worker_stack};

// The recorder wakes it, too: the futex lies in the memory they share.
static void wake(void)
{
    sonde_probe_area *area = sonde.area;
    if (area)
        syscall(SYS_futex, &area->orders, FUTEX_WAKE, 1);
}

static bool has(uint32_t what) { return sonde.config.what & what; }

static void apply(bool trace_ends)
{
    if (!Py_IsInitialized() || interpreter_is_finalizing())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (trace_ends)
        sonde_steps_end();
    if (!sonde_worker_is_stopping(&worker)) {
        if (has(SONDE_WHAT_STEPS))
            sonde_steps_apply();
        sonde_line_probes_apply();
    }
    PyGILState_Release(gil);
}

static void *await_orders(void *unused)
{
    (void)unused;
    sonde_exclude_current_thread();
    sonde_probe_area *area = sonde.area; // which stays mapped until this thread has ended
    while (!sonde_worker_is_stopping(&worker)) {
        uint32_t applied = atomic_load(&area->applied);
        uint64_t left = LOOK_NS;
        bool due = sonde_steps_are_due(sonde_now(), &left);
        if (atomic_load(&area->orders) == applied && !due) {
            struct timespec time = {0, left < LOOK_NS ? (long)left : LOOK_NS};
            syscall(SYS_futex, &area->orders, FUTEX_WAIT, applied, &time, NULL, 0);
        }
        due = sonde_steps_are_due(sonde_now(), &left);
        bool ordered = atomic_load(&area->orders) != applied;
        if ((ordered || due) && !sonde_worker_is_stopping(&worker))
            apply(due);
        sonde_exit_if_last();
    }
    return NULL;
}

// ---- sessions

static void begin(void)
{
    started = true;
    sonde_worker_start(&worker);
}

void sonde_probes_start(void)
{
    if (!sonde.area || !has(SONDE_WHAT_PROBES | SONDE_WHAT_STEPS))
        return;
    if (has(SONDE_WHAT_STEPS))
        sonde_steps_apply();
    sonde_line_probes_apply();
    begin();
}

bool sonde_probes_stop(void)
{
    if (!started)
        return true;
    if (atomic_exchange(&stopping, true))
        return false;
    PyThreadState *state = PyEval_SaveThread(); // the thread may wait for the GIL
    sonde_worker_stop(&worker);
    PyEval_RestoreThread(state);
    sonde_steps_remove();
    sonde_line_probes_remove();
    started = false;
    atomic_store(&stopping, false);
    return true;
}

void sonde_probes_forked(bool followed)
{
    if (!started)
        return;
    sonde_worker_forked(&worker);
    sonde_step_trace_forked();
    atomic_store(&stopping, false);
    started = false;
    if (!followed || !sonde.area)
        return;
    // The probes that were set go on. New ones it does not get: a thread of ours must not enter the
    // interpreter before it has come back from the fork, which nothing reports.
    sonde_line_probes_forked();
    started = true;
}
