// Bytecode instructions: how long each one is, and where it may jump to.
#ifndef SONDE_HOTSPOT_INSTRUCTIONS_H
#define SONDE_HOTSPOT_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SONDE_OP_LDC_W = 0x13,
    SONDE_OP_ILOAD = 0x15,
    SONDE_OP_ASTORE = 0x3a,
    SONDE_OP_ASTORE_0 = 0x4b,
    SONDE_OP_DUP = 0x59,
    SONDE_OP_GOTO = 0xa7,
    SONDE_OP_JSR = 0xa8,
    SONDE_OP_TABLESWITCH = 0xaa,
    SONDE_OP_LOOKUPSWITCH = 0xab,
    SONDE_OP_IRETURN = 0xac,
    SONDE_OP_RETURN = 0xb1,
    SONDE_OP_INVOKEVIRTUAL = 0xb6,
    SONDE_OP_INVOKESPECIAL = 0xb7,
    SONDE_OP_INVOKESTATIC = 0xb8,
    SONDE_OP_INVOKEINTERFACE = 0xb9,
    SONDE_OP_NEW = 0xbb,
    SONDE_OP_ATHROW = 0xbf,
    SONDE_OP_MONITORENTER = 0xc2,
    SONDE_OP_MONITOREXIT = 0xc3,
    SONDE_OP_WIDE = 0xc4,
    SONDE_OP_GOTO_W = 0xc8,
};

// The length of the instruction at `at` in code of `size` bytes; 0: it is none, or ends outside.
uint32_t sonde_instruction_length(const uint8_t *code, uint32_t size, uint32_t at);

// Whether its operand is the distance of a jump, in two bytes; and likewise in four.
bool sonde_instruction_jumps(uint8_t op);
static inline bool sonde_instruction_jumps_far(uint8_t op) { return op == 0xc8 || op == 0xc9; }
static inline bool sonde_instruction_returns(uint8_t op)
{
    return op >= SONDE_OP_IRETURN && op <= SONDE_OP_RETURN;
}
static inline bool sonde_instruction_switches(uint8_t op)
{
    return op == SONDE_OP_TABLESWITCH || op == SONDE_OP_LOOKUPSWITCH;
}
// Of a switch: the bytes of zeros after its opcode.
static inline uint32_t sonde_switch_padding(uint32_t at) { return 3 - (at & 3); }

static inline int32_t sonde_s2(const uint8_t *bytes)
{
    return (int16_t)((uint32_t)bytes[0] << 8 | bytes[1]);
}
static inline int32_t sonde_s4(const uint8_t *bytes)
{
    return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                     bytes[3]);
}

#endif
