// Where the fields of HotSpot's own structures lie, as it exports for its serviceability agent.
#ifndef SONDE_STRUCTS_H
#define SONDE_STRUCTS_H

#include <stdint.h>

// The offset of a field that every object of a type has; -1 if this VM does not tell it.
int64_t sonde_field_offset(void *libjvm, const char *type, const char *field);

#endif
