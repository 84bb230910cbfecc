// The offsets of fields in HotSpot's own structures, as it exports them for its serviceability
// agent.
#ifndef SONDE_HOTSPOT_VM_STRUCTS_H
#define SONDE_HOTSPOT_VM_STRUCTS_H

#include <stdint.h>

// The offset of a field that every object of a type has; -1 if this VM does not export it.
int64_t sonde_field_offset(void *libjvm, const char *type, const char *field);

// The address of a static field; NULL if this VM does not export it.
const void *sonde_static_field(void *libjvm, const char *type, const char *field);

// The size of an object of a type; 0 if this VM does not export it.
uint64_t sonde_type_size(void *libjvm, const char *type);

#endif
