// What a method is: its name, file and lines, as JVMTI tells them.
#ifndef SONDE_HOTSPOT_METHOD_INFO_H
#define SONDE_HOTSPOT_METHOD_INFO_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

// Tells the recorder; false if there was no room for it just now. The caller is attached to the VM.
bool sonde_describe_method(JNIEnv *env, jmethodID method, uint64_t id);

#endif
