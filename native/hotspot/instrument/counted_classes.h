// Of which classes calls are counted: those named, or else all that the program brings along.
#ifndef SONDE_HOTSPOT_COUNTED_CLASSES_H
#define SONDE_HOTSPOT_COUNTED_CLASSES_H

#include "hotspot/rewrite/class_file.h"

#include <jni.h>

// Names of packages and classes, a line each; none: all of the program's own. The caller is
// attached to the VM.
void sonde_counted_classes_set(JNIEnv *env, const char *names, size_t length);
void sonde_counted_classes_forget(JNIEnv *env);

// The class's name is as in source, with dots.
bool sonde_counted_class(JNIEnv *env, jobject loader, const char *name);
bool sonde_counted_method(const sonde_class_method *method);

#endif
