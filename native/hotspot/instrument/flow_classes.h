// Which methods the call flow is recorded of: --flow-in names a package, a class or a method.
#ifndef SONDE_HOTSPOT_FLOW_CLASSES_H
#define SONDE_HOTSPOT_FLOW_CLASSES_H

#include "hotspot/rewrite/class_file.h"

// As it was typed, in so many bytes. Nothing matches an empty one.
void sonde_flow_classes_set(const char *within, size_t length);
// Whether it may name the class, one around it, its package or one of its methods.
bool sonde_flow_wants_class(const char *name);
bool sonde_flow_wants_method(const sonde_class_method *method);

#endif
