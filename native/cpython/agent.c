// The agent's life: it comes in by dlopen, starts and stops sessions, follows forks. It is linked
// with -z nodelete: handlers and hooks may be entered late, so its code never goes away.
#define _GNU_SOURCE
#include "agent.h"
#include "../core/guard.h"
#include "../core/handshake.h"
#include "../core/reader.h"
#include "../core/session.h"
#include "../core/trap.h"
#include "describe.h"
#include "execs.h"
#include "locks.h"
#include "steer.h"
#include "threads.h"
#include "walk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char socket_path[108];
static bool follows_forks;
static pid_t session_pid;

static int begin(uint32_t reason)
{
    sonde_link link;
    session_pid = getpid();
    int error =
        sonde_link_open(&link, socket_path, (uint32_t)session_pid, reason, (uint32_t)Py_Version);
    if (error)
        return error;
    sonde_guard_install();
    sonde_trap_install(sonde_cpython_walk);
    error = sonde_session_start(&link.config, link.memfd);
    sonde_arm arm = {0};
    int answered = sonde_link_ready(&link, (uint32_t)error, &arm);
    sonde_link_close(&link);
    if (!error)
        error = answered;
    sonde.exact_cpu = arm.exact_cpu;
    if (!error)
        error = sonde_reader_start(&arm, &sonde_threads_here);
    if (!error && (sonde.config.what & SONDE_WHAT_LOCKS))
        error = sonde_locks_start();
    if (error) {
        sonde_session_stop();
        sonde_guard_remove();
    }
    return error;
}

static void forked_child(void)
{
    if (!atomic_load(&sonde.generation))
        return;
    bool follow = sonde.config.follow_children;
    sonde_session_forked();
    sonde_reader_forked();
    sonde_locks_forked();
    int saved = errno;
    bool steered = sonde_steer_forked();
    if (!follow || begin(SONDE_FORKED) != 0) {
        sonde_locks_stop();
        sonde_guard_remove();
        sonde_unwatch_code();
    } else if (steered) {
        sonde_steer_child(socket_path);
    }
    errno = saved;
}

// Starts a session with the recorder that listens at `path`. The caller holds the GIL. 0 or an
// errno.
EXPORT int sonde_agent_start(const char *path, uint32_t reason)
{
    if (atomic_load(&sonde.generation))
        return EALREADY;
    if (strlen(path) >= sizeof socket_path)
        return ENAMETOOLONG;
    strcpy(socket_path, path);
    if (!follows_forks)
        follows_forks = pthread_atfork(NULL, NULL, forked_child) == 0;
    sonde_watch_code();
    // The recorder arms every thread before it answers, which takes 20 ms where there are 500. A
    // program that records itself waits for that; one that is attached to goes on.
    PyThreadState *meanwhile = reason == SONDE_ATTACH ? PyEval_SaveThread() : NULL;
    int error = begin(reason);
    if (meanwhile)
        PyEval_RestoreThread(meanwhile);
    if (error)
        sonde_unwatch_code();
    return error;
}

// Ends the session after the recorder closed its events. The caller holds the GIL.
EXPORT void sonde_agent_stop(void)
{
    if (!atomic_load(&sonde.generation))
        return;
    sonde_locks_stop();
    sonde_reader_stop();
    sonde_session_stop();
    sonde_unwatch_code();
    sonde_guard_remove();
}

EXPORT int sonde_agent_active(void) { return atomic_load(&sonde.generation) != 0; }

void sonde_agent_describe(PyObject *thread_object)
{
    if (Py_TYPE(thread_object)->tp_getattro != PyObject_GenericGetAttr)
        return; // attribute access would run the program's own code
    PyObject *name = PyObject_GetAttrString(thread_object, "_name");
    if (!name) {
        PyErr_Clear();
        return;
    }
    sonde_describe_thread(thread_object, name);
    Py_DECREF(name);
}

// From an audit hook: a thread is about to be started by `args[0]`, a bound method of a
// threading.Thread. Its name is read here because later it would take the GIL, which samplers never
// do.
EXPORT void sonde_agent_thread_starts(PyObject *args)
{
    if (!atomic_load(&sonde.generation) || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 1)
        return;
    PyObject *method = PyTuple_GET_ITEM(args, 0);
    if (!PyMethod_Check(method))
        return;
    sonde_agent_describe(PyMethod_GET_SELF(method));
}

// A tick that falls into execve is delivered to the new program, which has no handler and dies of
// it (seen on 6.18 in two of three cases: remove_on_exec takes the event away too late). So the
// events are closed before, and armed again should the target still be here afterwards. Both may be
// called after vfork, where the process is not the one that is sampled.
EXPORT void sonde_agent_before_exec(void)
{
    if (!atomic_load(&sonde.generation) || getpid() != session_pid)
        return;
    int saved = errno;
    sonde_link_tell(socket_path, SONDE_EXEC);
    // One that came while the target had SIGTRAP blocked would stay pending in the new program.
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    struct timespec now = {0, 0};
    while (sigtimedwait(&trap, NULL, &now) > 0)
        ;
    errno = saved;
}

EXPORT void sonde_agent_exec_failed(void)
{
    if (!atomic_load(&sonde.generation) || getpid() != session_pid)
        return;
    int saved = errno;
    sonde_link_tell(socket_path, SONDE_EXEC_FAILED);
    errno = saved;
}

static int on_audit(const char *event, PyObject *args, void *unused)
{
    (void)unused;
    if (event[0] == '_' && strncmp(event, "_thread.start_", 14) == 0)
        sonde_agent_thread_starts(args);
    else if (event[0] == 'o' && strcmp(event, "os.exec") == 0)
        sonde_agent_before_exec();
    return 0;
}

// For programs that record themselves; a launched one has the preload library for this. Audit hooks
// cannot be taken out again.
EXPORT int sonde_agent_audit(void) { return PySys_AddAuditHook(on_audit, NULL); }

// What the target believes a signal to be that we have a hand on; 0 if this is none of those.
EXPORT int sonde_agent_signal_action(int sig, const struct sigaction *set, struct sigaction *get)
{
    if (sig != SIGTRAP)
        return sonde_guard_user_action(sig, set, get);
    sonde_trap_user_action(set, get);
    return 1;
}
