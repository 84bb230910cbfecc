// The way into a Java program: the moment at which its launcher has created the VM.
#ifndef SONDE_PRELOAD_JAVA_H
#define SONDE_PRELOAD_JAVA_H

#include <stdbool.h>

// Is this a Java launcher, or a program linked with the VM? Then `created` is called, in the thread
// that creates the VM, once that is whole: with the VM and the thread's JNI environment.
bool sonde_java_expect(void (*created)(void *vm, void *env));

#endif
