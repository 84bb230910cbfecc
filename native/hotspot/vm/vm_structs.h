// Where the fields of HotSpot's own structures lie, as it exports for its serviceability agent.
#ifndef SONDE_HOTSPOT_VM_STRUCTS_H
#define SONDE_HOTSPOT_VM_STRUCTS_H

#include <stdint.h>

// The offset of a field that every object of a type has; -1 if this VM does not tell it.
int64_t sonde_field_offset(void *libjvm, const char *type, const char *field);

// Where a static field lies; NULL if this VM does not tell it.
const void *sonde_static_field(void *libjvm, const char *type, const char *field);

// How large an object of a type is; 0 if this VM does not tell it.
uint64_t sonde_type_size(void *libjvm, const char *type);

#endif
