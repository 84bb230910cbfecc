#define _GNU_SOURCE
#include "hotspot/instrument/inserted_session.h"

#include "hotspot/instrument/flow_calls.h"
#include "hotspot/instrument/instrumentation.h"
#include "hotspot/instrument/probe_calls.h"

static bool flow, probes;
static sonde_call_natives natives;

static bool wants_class(jvmtiEnv *jvmti, jclass class, const char *name)
{
    bool of_probes = probes && sonde_probes_want_class(jvmti, class, name);
    return of_probes || (flow && sonde_flow_wants(name));
}

static void choose(const sonde_class_method *method, jmethodID id, sonde_method_edit *edit)
{
    if (flow)
        sonde_flow_choose(method, id, edit);
    if (probes)
        sonde_probes_choose(method, edit);
}

static void refused(const char *why)
{
    (void)why;
    if (probes)
        sonde_probes_refused();
}

static const sonde_instrument instrument = {wants_class, choose, refused};

static void renew(JNIEnv *env) { sonde_instrumentation_renew(env); }

void sonde_inserted_start(JNIEnv *env)
{
    flow = sonde_flow_wanted();
    probes = sonde_probes_wanted();
    if (!flow && !probes)
        return;
    sonde_flow_set_natives(&natives);
    sonde_probes_set_natives(&natives);
    bool prepared = sonde_instrumentation_prepare(env, &natives) == 0;
    flow = flow && sonde_flow_prepare(env, prepared);
    if (probes && prepared)
        sonde_probes_prepare(sonde_instrumentation_jvmti());
    bool started = prepared && sonde_instrumentation_start(env, &instrument) == 0;
    if (flow)
        sonde_flow_started(started);
    probes = probes && started;
    if (probes)
        sonde_probes_start(renew);
    if (!started)
        flow = false;
}

void sonde_inserted_stop(JNIEnv *env)
{
    if (probes)
        sonde_probes_stop();
    if (env && (flow || probes))
        sonde_instrumentation_stop(env);
    if (flow)
        sonde_flow_stop();
    flow = probes = false;
}

void sonde_inserted_forked(void)
{
    if (probes)
        sonde_probes_forked();
    if (flow)
        sonde_flow_forked();
    flow = probes = false;
}
