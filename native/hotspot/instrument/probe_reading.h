// Reads what a probe asks for: fields, elements and lengths, where the VM keeps them. No method of
// the program is called.
#ifndef SONDE_HOTSPOT_PROBE_READING_H
#define SONDE_HOTSPOT_PROBE_READING_H

#include "hotspot/instrument/probe_table.h"

typedef struct {
    char type;    // the first character of its descriptor
    jvalue value; // widened: j, d or l
} sonde_java_value;

// `first`: the step that is read of `value`; all before it are done. Returns -1 or why it cannot be
// read, of SONDE_PROBE_*. What is made of local references stays: the caller has a frame for them.
int sonde_java_read(JNIEnv *env, jvmtiEnv *jvmti, const sonde_probe_order *order, int first,
                    bool of_class, sonde_java_value *value);

// Of boxes and texts their values. A kind of SONDE_VALUE_*.
uint8_t sonde_java_describe(JNIEnv *env, jvmtiEnv *jvmti, const sonde_java_value *value,
                            sonde_rec_probe *out);

#endif
