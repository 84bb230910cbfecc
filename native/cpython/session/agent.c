// The agent's life cycle: it is loaded by dlopen, starts and stops sessions, follows forks. It is
// linked with -z nodelete: handlers and hooks may be entered late, so its code never goes away.
#define _GNU_SOURCE
#include "cpython/session/agent.h"
#include "core/base/agent_thread.h"
#include "core/hooks/got.h"
#include "core/hooks/spans.h"
#include "core/protocol/attach_thread.h"
#include "core/protocol/join_session.h"
#include "core/protocol/program_api.h"
#include "core/sampling/reader_thread.h"
#include "core/session/session.h"
#include "core/signals/fault_guard.h"
#include "cpython/calls/call_counter.h"
#include "cpython/flow/flow.h"
#include "cpython/frames/code_objects.h"
#include "cpython/heap/heap_request.h"
#include "cpython/lock_activity/method_hooks.h"
#include "cpython/locks/semaphore_hooks.h"
#include "cpython/loops/loops.h"
#include "cpython/objects/objects.h"
#include "cpython/probes/probe_session.h"
#include "cpython/session/c_spans.h"
#include "cpython/session/fork_warning.h"
#include "cpython/session/library_hooks.h"
#include "cpython/session/marked_signals.h"
#include "cpython/session/object_at.h"
#include "cpython/walk/safepoint.h"
#include "cpython/walk/sample_marks.h"
#include "cpython/walk/thread_list.h"
#include "cpython/walk/walk.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define FORK_TAKES_MS 50

static char socket_path[108];
static bool follows_forks;

static int begin(uint32_t reason)
{
    sonde_runtime_facts facts = {SONDE_CPYTHON, (uint32_t)Py_Version, sonde_cpython_walk,
                                 sonde_cpython_data, sonde_cpython_marked_signals};
    sonde_arm arm;
    bool forked = reason == SONDE_FORKED;
    if (!forked)                                      // a child has its parent's hooks
        sonde_libraries_watch(reason == SONDE_START); // before a tick can come
    int error = forked ? sonde_join_session_forked(socket_path, &facts, &arm)
                       : sonde_join_session(socket_path, reason, &facts, &arm);
    if (error) {
        if (!forked)
            sonde_got_unhook();
        return error;
    }
    if (!forked) // before the reader's thread is there
        sonde_forks_watch();
    error = sonde_reader_start(&arm, &sonde_threads_here);
    if (!error && !forked && (sonde.config.what & SONDE_WHAT_LOCKS))
        error = sonde_locks_start();
    if (error) {
        sonde_leave_session();
        if (!forked)
            sonde_got_unhook();
    }
    return error;
}

static void forked_child(void)
{
    sonde_lock_activity_before_child();
    sonde_got_forked();
    sonde_libraries_forked();
    sonde_agent_threads_forked();
    sonde_heap_forked();
    if (!atomic_load(&sonde.generation)) { // its parent's agent may be starting or ending
        sonde_objects_forked(false);
        sonde_probes_forked(false);
        sonde_flow_forked(false);
        sonde_loops_forked(false);
        sonde_lock_activity_forked(false);
        if (sonde_attach_forked())
            sonde_attach_abandon();
        return;
    }
    sonde_spans_forget();
    bool follow = sonde.config.follow_children;
    sonde_session_forked();
    sonde_reader_forked();
    sonde_safepoint_forked();
    sonde_locks_forked();
    int saved = errno;
    sonde_agent_threads_watch_exit();
    bool steered = sonde_attach_forked();
    bool followed = follow && begin(SONDE_FORKED) == 0;
    sonde_parent_forget(true); // if it was not done
    sonde_calls_forked(followed);
    sonde_objects_forked(followed);
    sonde_probes_forked(followed);
    sonde_flow_forked(followed);
    sonde_loops_forked(followed);
    sonde_lock_activity_forked(followed);
    if (!followed) {
        sonde_locks_stop();
        sonde_guard_remove();
        sonde_unwatch_code();
        if (steered)
            sonde_attach_abandon();
    } else if (steered) {
        sonde_attach_child(socket_path);
    }
    errno = saved;
}

static void before_fork(void)
{
    sonde_heap_before_fork();
    sonde_forks_before();
}

static void after_fork(void)
{
    sonde_got_after_fork();
    sonde_heap_after_fork();
}

// Whether it was not done before.
static bool follow_forks(void)
{
    if (follows_forks)
        return false;
    follows_forks = pthread_atfork(before_fork, after_fork, forked_child) == 0;
    return true;
}

// Starts a session with the recorder that listens at `path`. The caller holds the GIL. 0 or an
// errno.
EXPORT int sonde_agent_start(const char *path, uint32_t reason)
{
    if (atomic_load(&sonde.generation) || (reason != SONDE_ATTACH && sonde_attach_is_active()))
        return EALREADY;
    if (strlen(path) >= sizeof socket_path)
        return ENAMETOOLONG;
    strcpy(socket_path, path);
    follow_forks();
    if (reason != SONDE_ATTACH) // there it is one of our own
        sonde_agent_threads_watch_exit();
    sonde_watch_code();
    sonde_sample_marks_prepare();
    sonde_marked_signals_prepare();
    // The recorder arms every thread before it answers, which takes 20 ms where there are 500. A
    // program that records itself waits for that; one that is attached to goes on.
    PyThreadState *meanwhile = reason == SONDE_ATTACH ? PyEval_SaveThread() : NULL;
    int error = begin(reason);
    if (meanwhile)
        PyEval_RestoreThread(meanwhile);
    if (error)
        sonde_unwatch_code();
    else {
        if (sonde.config.what & SONDE_WHAT_CALLS)
            sonde_calls_start();
        sonde_objects_start();
        sonde_probes_start();
        sonde_flow_start();
        sonde_loops_start();
        sonde_lock_activity_start();
        sonde_c_spans_offer();
    }
    return error;
}

// Ends the session after the recorder closed its events. The caller holds the GIL.
EXPORT void sonde_agent_stop(void)
{
    if (!atomic_load(&sonde.generation))
        return;
    if (!sonde_probes_stop())
        return; // another thread is at it
    sonde_program_withdraw();
    sonde_flow_stop();
    sonde_calls_stop();
    sonde_lock_activity_stop();
    sonde_objects_stop();
    sonde_loops_stop();
    sonde_reader_stop();
    sonde_leave_session();
    sonde_objects_forget();
    sonde_locks_stop();
    sonde_forks_leave();
    sonde_spans_forget();
    sonde_unwatch_code();
}

// The same where no caller waits for it: what needs no GIL, of which unmapping takes longest, is
// done without.
void sonde_agent_leave(void)
{
    if (!atomic_load(&sonde.generation))
        return;
    if (!sonde_probes_stop())
        return; // another thread is at it
    sonde_program_withdraw();
    sonde_flow_stop();
    sonde_calls_stop();
    sonde_lock_activity_stop();
    sonde_objects_stop();
    sonde_loops_stop();
    PyThreadState *meanwhile = PyEval_SaveThread();
    sonde_reader_stop();
    sonde_leave_session();
    sonde_objects_forget();
    PyEval_RestoreThread(meanwhile);
    sonde_locks_stop();
    sonde_unwatch_code();
}

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

// A thread is about to be started by `args[0]`, a bound method of a
// threading.Thread. Its name is read here because later it would take the GIL, which samplers never
// do.
static void thread_starts(PyObject *args)
{
    if (!PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 1)
        return;
    PyObject *method = PyTuple_GET_ITEM(args, 0);
    if (!PyMethod_Check(method))
        return;
    sonde_agent_describe(PyMethod_GET_SELF(method));
}

// No thread in the target waits for messages of the recorder, but audit events come all the time:
// the first one after the end of the recording ends the session.
static bool is_over(void)
{
    // Sessions are ended under the main interpreter's GIL: while we have it the header stays.
    return PyInterpreterState_Get() == PyInterpreterState_Main() && sonde.header &&
           (sonde_what() & SONDE_WHAT_END);
}

// From an audit hook, whatever the event is.
EXPORT void sonde_agent_audited(const char *event, PyObject *args)
{
    if (!atomic_load_explicit(&sonde.generation, memory_order_relaxed))
        return;
    if (event[0] == '_' && strncmp(event, "_thread.start_", 14) == 0)
        thread_starts(args);
    if (is_over() && !sonde_attach_is_active())
        sonde_agent_stop();
}

static int on_audit(const char *event, PyObject *args, void *unused)
{
    (void)unused;
    sonde_agent_audited(event, args);
    return 0;
}

// A snapshot of the heap for who listens at `path`, recorded or not. Called with or without the
// GIL. 0 or an errno.
EXPORT int sonde_agent_heap(const char *path)
{
    int saved = errno;
    bool fresh = follow_forks();
    sonde_forks_watch();
    errno = saved;
    // A fork that is under way knows nothing of its child's part.
    return sonde_heap_request(path, fresh ? FORK_TAKES_MS : 0, sonde_forks_thread_ends);
}

// A snapshot into a file of the caller's, who holds the GIL. 0 or an errno.
EXPORT int sonde_agent_heap_here(int fd, uint32_t stuck_ms, heap_answer *answer)
{
    return sonde_heap_take(fd, stuck_ms, answer);
}

// For programs that record themselves; a launched one has the preload library for this. Audit hooks
// cannot be taken out again.
EXPORT int sonde_agent_audit(void) { return PySys_AddAuditHook(on_audit, NULL); }
