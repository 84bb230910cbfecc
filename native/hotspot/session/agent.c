// The agent's life cycle in a JVM: it is loaded by dlopen, starts and stops sessions. It is linked
// with -z nodelete: handlers may be entered late, so its code never goes away.
#define _GNU_SOURCE
#include "core/base/agent_thread.h"
#include "core/hooks/got.h"
#include "core/hooks/spans.h"
#include "core/protocol/attach_thread.h"
#include "core/protocol/join_session.h"
#include "core/sampling/cpu_timers.h"
#include "core/session/session.h"
#include "hotspot/instrument/inserted_session.h"
#include "hotspot/locks/monitors.h"
#include "hotspot/names/methods.h"
#include "hotspot/names/native_symbols.h"
#include "hotspot/session/allocation_samples.h"
#include "hotspot/session/java_api.h"
#include "hotspot/session/jvmti_events.h"
#include "hotspot/session/polled_waits.h"
#include "hotspot/vm/code_cache.h"
#include "hotspot/vm/heap_memory.h"
#include "hotspot/vm/method_entries.h"
#include "hotspot/vm/thread_records.h"
#include "hotspot/vm/vm.h"
#include "hotspot/walk/walk.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool watches_forks;

// A JVM does not continue in a child: what it forks executes another program, which the preload
// library enters.
static void forked_child(void)
{
    sonde_got_forked();
    sonde_agent_threads_forked();
    if (!atomic_load(&sonde.generation))
        return;
    int saved = errno;
    sonde_spans_forget();
    sonde_session_forked();
    sonde_parent_forget(true);
    sonde_methods_forked();
    sonde_cpu_timers_forked();
    sonde_polled_waits_forked();
    sonde_locks_forked();
    sonde_inserted_forked();
    if (sonde_attach_forked())
        sonde_attach_abandon();
    errno = saved;
}

#define NEEDS_LOCK_EVENTS (SONDE_WHAT_LOCKS | SONDE_WHAT_WAITS | SONDE_WHAT_LOCK_ACTIVITY)

// Before the events: a class loaded meanwhile must find a listener.
static int begin(JavaVM *vm, JNIEnv *env, const char *path, uint32_t reason)
{
    int error = sonde_vm_open(vm, env);
    if (error)
        return error;
    if (!watches_forks)
        watches_forks =
            pthread_atfork(sonde_got_before_fork, sonde_got_after_fork, forked_child) == 0;
    error = sonde_events_start(env);
    sonde_runtime_facts facts = {SONDE_HOTSPOT, sonde_vm.version_hex, sonde_hotspot_walk,
                                 sonde_hotspot_data, NULL};
    sonde_arm arm;
    sonde_methods_forget();
    if (!error)
        error = sonde_join_session(path, reason, &facts, &arm);
    if (!error && (error = sonde_methods_start()))
        sonde_leave_session();
    if (error) {
        sonde_vm_close();
        return error;
    }
    sonde_vm_code_prepare();
    sonde_records_prepare();
    sonde_method_entries_prepare();
    sonde_heap_memory_prepare();
    sonde_events_report_names(env);
    // Without them the rest is recorded all the same, and the recorder reports what is missing.
    if (arm.sampler == SONDE_SAMPLER_CPU_TIMER)
        sonde_cpu_timers_start();
    if (!arm.wait_signals && (sonde.config.what & SONDE_WHAT_WAITS))
        sonde_polled_waits_start();
    if (sonde.config.what & NEEDS_LOCK_EVENTS)
        sonde_locks_start(env);
    if (sonde.config.what & SONDE_WHAT_OBJECTS)
        sonde_objects_start();
    sonde_inserted_start(env);
    sonde_java_api_start(env);
    return 0;
}

static void end(void)
{
    if (!atomic_load(&sonde.generation))
        return;
    sonde_cpu_timers_stop();
    sonde_polled_waits_stop();
    JNIEnv *attached = sonde_vm_attach();
    sonde_java_api_stop(attached);
    sonde_inserted_stop(attached);
    if (sonde.config.what & NEEDS_LOCK_EVENTS)
        sonde_locks_stop(attached);
    if (attached) {
        sonde_objects_stop();
        sonde_events_stop();
    }
    sonde_methods_stop();
    if (attached)
        sonde_methods_describe(attached); // what was seen last
    sonde_leave_session();
    sonde_spans_forget();
    sonde_natives_forget();
    if (attached) {
        sonde_vm_close();
        sonde_vm_detach();
    }
}

// Called by the preload library in the thread that has just created the VM: no line of the program
// has run. 0 or an errno.
EXPORT int sonde_agent_start_java(JavaVM *vm, JNIEnv *env, const char *path)
{
    return begin(vm, env, path, SONDE_START);
}

// ---- in a process that runs

static int start(const char *path)
{
    JavaVM *vm = sonde_vm.vm = sonde_vm_find();
    JNIEnv *env = vm ? sonde_vm_attach() : NULL;
    if (!env)
        return EAGAIN;
    int error = begin(vm, env, path, SONDE_ATTACH);
    sonde_vm_detach();
    return error;
}

static void report_names(void)
{
    JNIEnv *env = sonde_vm_attach();
    if (!env)
        return;
    sonde_events_report_names(env);
    sonde_vm_detach();
}

static const sonde_attach_ops ops = {start, end, report_names, NULL, NULL};

// In a thread that was made to call it. 0 or an errno.
EXPORT int sonde_agent_attach(const char *path) { return sonde_attach_start(path, &ops); }

// The VM was asked to load us by its attach protocol; what it returns is answered there.
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
    (void)vm;
    (void)reserved;
    return options ? sonde_agent_attach(options) : EINVAL;
}
