// Where in a method the probes of its lines are, and from which variable each one reads.
#ifndef SONDE_HOTSPOT_PROBE_PLACES_H
#define SONDE_HOTSPOT_PROBE_PLACES_H

#include "hotspot/instrument/probe_table.h"
#include "hotspot/rewrite/class_file.h"

// What an inserted call says of its place, in the number that it reports.
enum {
    SONDE_PLACE_UNBOUND = 1, // the variable has no value there
    SONDE_PLACE_STATIC = 2,  // the value is the class: the first name is a static field of it
    SONDE_PLACE_FIELD = 4,   // the value is `this`: the first name is a field of it
};
static inline uint32_t sonde_place_number(uint32_t probe, char type, uint32_t flags,
                                          uint32_t serial)
{
    return probe | (uint32_t)(uint8_t)type << 8 | flags << 16 | serial << 24;
}

// Adds insertions for the probes of the bits in `probes` that the method has lines of. The bits of
// those that it has.
uint32_t sonde_probe_places(const sonde_class_method *method, uint32_t probes,
                            sonde_method_edit *edit);

#endif
