// What a method is: its name, file and lines, as JVMTI tells them.
#ifndef SONDE_HOTSPOT_DESCRIBE_H
#define SONDE_HOTSPOT_DESCRIBE_H

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Tells the recorder; false if there was no room for it just now. The caller is attached to the VM.
bool sonde_describe_method(JNIEnv *env, jmethodID method, uint64_t id);

// A class as people write it, from its signature in the VM: `Lorg/app/Main$$Lambda$14.0x00c032;`
// (a hidden class: its address follows) becomes `org.app.Main$$Lambda`. Returns the length written.
size_t sonde_class_name(const char *signature, char *to, size_t room);

#endif
