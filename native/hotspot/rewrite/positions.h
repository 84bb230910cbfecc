// Where the instructions of a method were, and where they are after code was inserted.
#ifndef SONDE_HOTSPOT_POSITIONS_H
#define SONDE_HOTSPOT_POSITIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_NO_INSTRUCTION UINT32_MAX

// Both have an element for the end of the code, and SONDE_NO_INSTRUCTION where none begins.
typedef struct {
    const uint8_t *code;
    uint32_t size;    // of the old code
    uint32_t *before; // where a jump to the instruction goes: to what was inserted before it
    uint32_t *at;     // where the instruction itself is
} sonde_positions;

static inline bool sonde_is_instruction(const sonde_positions *positions, int64_t pc)
{
    return pc >= 0 && pc < positions->size && positions->before[pc] != SONDE_NO_INSTRUCTION;
}

#endif
