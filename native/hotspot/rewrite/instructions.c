#include "hotspot/rewrite/instructions.h"

// Of each opcode up to jsr_w (JVMS 6.5); 0: its operands say it, or there is no such opcode in a
// class file.
static const uint8_t lengths[] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // nop to dconst_1 and bipush's neighbours
    2, 3, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, // bipush, sipush, ldc, loads
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // loads
    1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, // loads of arrays, stores
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // stores
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // stores into arrays, the operand stack
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // arithmetic
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // arithmetic
    1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, // iinc, conversions
    1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, // comparisons, conditional jumps
    3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 1, 1, 1, 1, // jumps, ret, switches, returns
    1, 1, 3, 3, 3, 3, 3, 3, 3, 5, 5, 3, 2, 3, 1, 1, // fields, calls, new objects, athrow
    3, 3, 1, 1, 0, 4, 3, 3, 5, 5,                   // types, monitors, wide, ifnull, far jumps
};

static uint32_t switch_length(const uint8_t *code, uint32_t size, uint32_t at)
{
    uint32_t operands = at + 1 + sonde_switch_padding(at);
    bool table = code[at] == SONDE_OP_TABLESWITCH;
    uint32_t fixed = table ? 12 : 8;
    if (operands > size || size - operands < fixed)
        return 0;
    int64_t count = sonde_s4(code + operands + 4);
    if (table)
        count = (int64_t)sonde_s4(code + operands + 8) - count + 1;
    if (count < 0 || count > size)
        return 0;
    return operands - at + fixed + (uint32_t)count * (table ? 4 : 8);
}

uint32_t sonde_instruction_length(const uint8_t *code, uint32_t size, uint32_t at)
{
    if (at >= size)
        return 0;
    uint8_t op = code[at];
    uint32_t length = op < sizeof lengths ? lengths[op] : 0;
    if (sonde_instruction_switches(op))
        length = switch_length(code, size, at);
    else if (op == SONDE_OP_WIDE && size - at >= 2)
        length = code[at + 1] == 0x84 ? 6 : 4; // iinc has two operands
    return length <= size - at ? length : 0;
}

bool sonde_instruction_jumps(uint8_t op)
{
    return (op >= 0x99 && op <= SONDE_OP_JSR) || op == 0xc6 || op == 0xc7;
}
