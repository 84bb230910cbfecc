// Works out where the instructions of a method are after the insertions, and writes them there.
#ifndef SONDE_HOTSPOT_CODE_LAYOUT_H
#define SONDE_HOTSPOT_CODE_LAYOUT_H

#include "hotspot/rewrite/inserted_calls.h"
#include "hotspot/rewrite/positions.h"

typedef struct {
    sonde_positions positions;
    uint16_t *prefix;  // of each instruction, the bytes inserted before it
    uint8_t *handlers; // instructions that handlers of exceptions begin with
    uint8_t *widened;  // jumps that take four bytes now
    uint32_t entry;    // bytes inserted where the method begins
} sonde_code_layout;

// To be freed in any case; `exceptions` is the table of the method, which is not moved here. NULL,
// or why it cannot be done.
const char *sonde_layout_make(sonde_code_layout *layout, const uint8_t *code, uint32_t size,
                              sonde_reader exceptions, const sonde_method_edit *edit);
void sonde_layout_free(sonde_code_layout *layout);

// Appends the instructions; `number` is the constant that calls are reported with.
void sonde_layout_write(const sonde_code_layout *layout, const sonde_method_edit *edit,
                        sonde_call_constants *constants, uint32_t number, sonde_output *to);

#endif
