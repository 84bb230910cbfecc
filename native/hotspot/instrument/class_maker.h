// A class file in the making: its constants, fields and methods.
#ifndef SONDE_HOTSPOT_CLASS_MAKER_H
#define SONDE_HOTSPOT_CLASS_MAKER_H

#include "hotspot/rewrite/constant_pool.h"

enum {
    SONDE_ACCESS_PUBLIC = 0x0001,
    SONDE_ACCESS_PRIVATE = 0x0002,
    SONDE_ACCESS_STATIC = 0x0008,
    SONDE_ACCESS_FINAL = 0x0010,
    SONDE_ACCESS_NATIVE = 0x0100,
};

typedef struct {
    sonde_constant_pool pool;
    sonde_output fields, methods;
    uint32_t field_count, method_count;
    uint32_t self, code; // constants: the class, and the name of the attribute
} sonde_class_maker;

#endif
