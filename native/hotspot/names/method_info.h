// What a method is: its name, file and lines, by JVMTI.
#ifndef SONDE_HOTSPOT_METHOD_INFO_H
#define SONDE_HOTSPOT_METHOD_INFO_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

// Describes it to the recorder; false if there was no room for it just now. The caller is attached
// to the VM.
bool sonde_describe_method(JNIEnv *env, jmethodID method, uint64_t id);

#endif
