// The probes of a session, as the recorder ordered them: which line, and how the value is read.
#ifndef SONDE_HOTSPOT_PROBE_TABLE_H
#define SONDE_HOTSPOT_PROBE_TABLE_H

#include "core/session/session.h"
#include "hotspot/rewrite/bytes.h"

#include <jvmti.h>

#define SONDE_MAX_PROBE_STEPS 12
#define SONDE_MAX_STEP_TEXT 255

typedef struct {
    uint8_t what; // of SONDE_STEP_*
    int32_t index;
    char text[SONDE_MAX_STEP_TEXT + 1];
} sonde_probe_step;

// Never changed: another one takes its place. It is not freed, because methods that still run may
// report to it; it is small, and nobody has many.
typedef struct {
    uint32_t serial, line, every;
    char file[SONDE_PROBE_TEXT + 1];
    int count;
    sonde_probe_step steps[SONDE_MAX_PROBE_STEPS];
} sonde_probe_order;

// Reads what is ordered now. Returns a bit for each probe that is another one than before.
uint32_t sonde_probe_table_read(void);
void sonde_probe_table_forget(void);
// The probe in that place, NULL if there is none.
const sonde_probe_order *sonde_probe_at(uint32_t place);
// What the recorder reads of it, NULL if it is another one by now. In a session, and entered.
sonde_probe *sonde_probe_counts(uint32_t place, const sonde_probe_order *order);

// Whether the probe is in the file, whose path is that of the class's package and its source file.
bool sonde_probe_is_in(const sonde_probe_order *order, const char *path);

#endif
