// Probes of a JVM: calls that are inserted at lines report values.
#ifndef SONDE_HOTSPOT_PROBE_CALLS_H
#define SONDE_HOTSPOT_PROBE_CALLS_H

#include "hotspot/instrument/call_class.h"
#include "hotspot/rewrite/class_file.h"

#include <jvmti.h>

// Whether the session may have probes.
bool sonde_probes_wanted(void);
void sonde_probes_set_natives(sonde_call_natives *natives);

// Whether any probe is, or until now was, in the class's file.
bool sonde_probes_want_class(jvmtiEnv *jvmti, jclass class, const char *name);
void sonde_probes_choose(const sonde_class_method *method, sonde_method_edit *edit);
// The VM refused a class with the probes in `edit`, or without it with any.
void sonde_probes_refused(void);

// Reads the first orders. Then `renew` is called in a thread of the agent's, attached to the VM,
// whenever probes have changed.
void sonde_probes_prepare(jvmtiEnv *jvmti);
void sonde_probes_start(void (*renew)(JNIEnv *env));
void sonde_probes_stop(void);
void sonde_probes_forked(void);

#endif
