#define _GNU_SOURCE
#include "hotspot/instrument/inserted_session.h"

#include "core/session/session.h"
#include "hotspot/instrument/call_counter.h"
#include "hotspot/instrument/counted_classes.h"
#include "hotspot/instrument/flow_calls.h"
#include "hotspot/instrument/instrumentation.h"
#include "hotspot/instrument/probe_calls.h"
#include "hotspot/lock_activity/lock_calls.h"

static bool counts, flow, probes, locks;
static sonde_call_natives natives, of_flow;

static bool counts_class(JNIEnv *env, jobject loader, const char *name)
{
    return counts && sonde_counted_class(env, loader, name);
}

static bool wants_class(jvmtiEnv *jvmti, jclass class, const char *name)
{
    bool of_probes = probes && sonde_probes_want_class(jvmti, class, name);
    return of_probes || (flow && sonde_flow_wants(name)) || (locks && sonde_lock_wants_class(name));
}

static void choose(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit)
{
    if (flow)
        sonde_flow_choose(method, id, edit);
    if (locks)
        sonde_lock_choose(method, edit);
    if (probes)
        sonde_probes_choose(method, edit);
}

static void refused(const char *why)
{
    (void)why;
    if (probes)
        sonde_probes_refused();
}

static const sonde_instrument instrument = {counts_class, sonde_counted_method, wants_class, choose,
                                            refused};

static void renew(JNIEnv *env) { sonde_instrumentation_renew(env); }

// Exits are reported by the same calls for the call flow and for locks, of which a session has one.

static void JNICALL on_leave(JNIEnv *env, jclass class, jint number, jlong thread)
{
    if (__builtin_expect(locks, 0))
        sonde_lock_method_left(env);
    else
        of_flow.leave(env, class, number, thread);
}

static void JNICALL on_unwind(JNIEnv *env, jclass class, jint number, jlong thread)
{
    if (__builtin_expect(locks, 0))
        sonde_lock_method_left(env);
    else
        of_flow.unwind(env, class, number, thread);
}

static void set_natives(void)
{
    sonde_flow_set_natives(&of_flow);
    natives = of_flow;
    natives.leave = on_leave;
    natives.unwind = on_unwind;
    natives.acquires = sonde_on_lock_acquires;
    natives.acquired = sonde_on_lock_acquired;
    natives.releases = sonde_on_lock_releases;
    natives.holds = sonde_on_lock_holds;
    sonde_probes_set_natives(&natives);
    sonde_call_counter_set_natives(&natives);
}

static bool start_locks(JNIEnv *env, bool prepared)
{
    return sonde_lock_activity_start(env, !prepared ? SONDE_LOCK_ACTIVITY_NO_HOOK
                                          : flow    ? SONDE_LOCK_ACTIVITY_WITH_FLOW
                                                    : 0);
}

void sonde_inserted_start(JNIEnv *env)
{
    counts = sonde_call_counter_wanted();
    flow = sonde_flow_wanted();
    probes = sonde_probes_wanted();
    bool wants_locks = sonde_lock_activity_wanted();
    if (!counts && !flow && !probes && !wants_locks)
        return;
    set_natives();
    bool prepared = sonde_instrumentation_prepare(env, &natives) == 0;
    jvmtiEnv *jvmti = sonde_instrumentation_jvmti();
    flow = flow && sonde_flow_prepare(env, prepared);
    locks = wants_locks && start_locks(env, prepared);
    counts = counts && sonde_call_counter_prepare(env, jvmti, prepared);
    if (probes && prepared)
        sonde_probes_prepare(jvmti);
    bool started = prepared && sonde_instrumentation_start(env, &instrument) == 0;
    if (flow)
        sonde_flow_started(started);
    if (counts)
        sonde_call_counter_started(started);
    probes = probes && started;
    if (probes)
        sonde_probes_start(renew);
    if (!started)
        flow = counts = false;
}

void sonde_inserted_stop(JNIEnv *env)
{
    if (probes)
        sonde_probes_stop();
    if (counts)
        sonde_call_counter_stop();
    if (env && (counts || flow || probes || locks))
        sonde_instrumentation_stop(env);
    if (counts && env)
        sonde_call_counter_forget(env);
    if (flow)
        sonde_flow_stop();
    if (locks)
        sonde_lock_activity_stop();
    counts = flow = probes = locks = false;
}

void sonde_inserted_forked(void)
{
    if (probes)
        sonde_probes_forked();
    if (flow)
        sonde_flow_forked();
    if (locks)
        sonde_lock_activity_stop();
    if (counts)
        sonde_call_counter_stop();
    counts = flow = probes = locks = false;
}
