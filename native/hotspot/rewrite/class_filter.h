// Which methods an option names: a package, a class or a method.
#ifndef SONDE_HOTSPOT_CLASS_FILTER_H
#define SONDE_HOTSPOT_CLASS_FILTER_H

#include "hotspot/rewrite/class_file.h"

#define SONDE_CLASS_FILTER 512

typedef struct {
    char wanted[SONDE_CLASS_FILTER + 1];
    size_t size;
    size_t owner_size; // of what a method's class would be called
} sonde_class_filter;

// As it was typed, in so many bytes. Nothing matches an empty one.
void sonde_class_filter_set(sonde_class_filter *filter, const char *within, size_t length);
// Whether it may name the class, one around it, its package or one of its methods.
bool sonde_class_filter_wants(const sonde_class_filter *filter, const char *name);
bool sonde_class_filter_wants_method(const sonde_class_filter *filter,
                                     const sonde_class_method *method);

#endif
