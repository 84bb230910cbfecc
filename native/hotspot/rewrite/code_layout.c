#include "hotspot/rewrite/code_layout.h"

#include "hotspot/rewrite/instructions.h"

#define MAX_CODE 65535u

static const char malformed[] = "its code is malformed";
static const char no_memory[] = "no memory";

// ---- the instructions as they are

static const char *find_instructions(sonde_code_layout *layout)
{
    sonde_positions *positions = &layout->positions;
    for (uint32_t pc = 0, length; pc < positions->size; pc += length) {
        length = sonde_instruction_length(positions->code, positions->size, pc);
        if (!length)
            return malformed;
        positions->before[pc] = 0;
    }
    return NULL;
}

// The operands of a switch: the default, then what is described below.
static const uint8_t *switch_operands(const sonde_positions *positions, uint32_t pc)
{
    return positions->code + pc + 1 + sonde_switch_padding(pc);
}

typedef struct {
    const uint8_t *first; // the distance of the first jump after the default
    uint32_t count, step; // bytes from one to the next
    uint32_t fixed;       // bytes between the default and the first distance
} switch_cases;

static switch_cases cases_of(const sonde_positions *positions, uint32_t pc)
{
    const uint8_t *operands = switch_operands(positions, pc);
    if (positions->code[pc] == SONDE_OP_LOOKUPSWITCH)
        return (switch_cases){operands + 12, (uint32_t)sonde_s4(operands + 4), 8, 4};
    int64_t count = (int64_t)sonde_s4(operands + 8) - sonde_s4(operands + 4) + 1;
    return (switch_cases){operands + 12, (uint32_t)count, 4, 8};
}

static bool targets_exist(const sonde_positions *positions, uint32_t pc)
{
    const uint8_t *instruction = positions->code + pc;
    if (sonde_instruction_jumps(*instruction))
        return sonde_is_instruction(positions, (int64_t)pc + sonde_s2(instruction + 1));
    if (sonde_instruction_jumps_far(*instruction))
        return sonde_is_instruction(positions, (int64_t)pc + sonde_s4(instruction + 1));
    if (!sonde_instruction_switches(*instruction))
        return true;
    switch_cases cases = cases_of(positions, pc);
    for (uint32_t i = 0; i < cases.count; i++)
        if (!sonde_is_instruction(positions, (int64_t)pc + sonde_s4(cases.first + i * cases.step)))
            return false;
    return sonde_is_instruction(positions, (int64_t)pc + sonde_s4(switch_operands(positions, pc)));
}

// ---- where they will be

static uint32_t next(const sonde_positions *positions, uint32_t pc)
{
    return pc + sonde_instruction_length(positions->code, positions->size, pc);
}

static const char *find_prefixes(sonde_code_layout *layout, const sonde_method_edit *edit)
{
    const sonde_positions *positions = &layout->positions;
    layout->entry = (edit->counted ? SONDE_COUNTING_CALL_SIZE : 0) +
                    (edit->calls ? SONDE_INSERTED_CALL_SIZE : 0);
    for (uint32_t i = 0; i < edit->insertion_count; i++) {
        const sonde_insertion *insertion = &edit->insertions[i];
        uint32_t size = sonde_insertion_size(insertion);
        if (insertion->at_entry)
            layout->entry += size;
        else if (sonde_is_instruction(positions, insertion->pc))
            layout->prefix[insertion->pc] = (uint16_t)(layout->prefix[insertion->pc] + size);
        else
            return "no instruction begins where a value is to be read";
    }
    for (uint32_t pc = 0; pc < positions->size; pc = next(positions, pc)) {
        if (!targets_exist(positions, pc))
            return malformed;
        if (edit->calls && layout->handlers[pc])
            layout->prefix[pc] = (uint16_t)(layout->prefix[pc] + SONDE_INSERTED_CALL_SIZE);
        if (sonde_edit_has_exits(edit) && sonde_instruction_returns(positions->code[pc]))
            layout->prefix[pc] = (uint16_t)(layout->prefix[pc] + SONDE_INSERTED_CALL_SIZE);
    }
    return NULL;
}

static void place(sonde_code_layout *layout)
{
    sonde_positions *positions = &layout->positions;
    uint32_t at = layout->entry;
    for (uint32_t pc = 0, following; pc < positions->size; pc = following) {
        following = next(positions, pc);
        positions->before[pc] = at;
        at += layout->prefix[pc];
        positions->at[pc] = at;
        at += following - pc;
        if (layout->widened[pc])
            at += 2;
        if (sonde_instruction_switches(positions->code[pc]))
            at += sonde_switch_padding(positions->at[pc]) - sonde_switch_padding(pc);
    }
    positions->before[positions->size] = positions->at[positions->size] = at;
}

static int32_t distance(const sonde_positions *positions, uint32_t pc, int32_t old)
{
    return (int32_t)(positions->before[(int64_t)pc + old] - positions->at[pc]);
}

// Whether a jump was too long for two bytes and has four from now on.
static const char *widen(sonde_code_layout *layout, bool *widened)
{
    const sonde_positions *positions = &layout->positions;
    *widened = false;
    for (uint32_t pc = 0; pc < positions->size; pc = next(positions, pc)) {
        uint8_t op = positions->code[pc];
        if (!sonde_instruction_jumps(op) || layout->widened[pc])
            continue;
        int32_t now = distance(positions, pc, sonde_s2(positions->code + pc + 1));
        if (now == (int16_t)now)
            continue;
        // Its opposite around a far jump would need a frame in the stack map that nobody knows.
        if (op != SONDE_OP_GOTO && op != SONDE_OP_JSR)
            return "a conditional jump would be too long";
        layout->widened[pc] = *widened = true;
    }
    return NULL;
}

static const char *find_handlers(sonde_code_layout *layout, sonde_reader exceptions)
{
    for (uint32_t count = sonde_read_u2(&exceptions); count--;) {
        sonde_read_u4(&exceptions);
        uint32_t handler = sonde_read_u2(&exceptions);
        sonde_read_u2(&exceptions);
        if (!sonde_is_instruction(&layout->positions, handler))
            return malformed;
        layout->handlers[handler] = 1;
    }
    return exceptions.failed ? malformed : NULL;
}

const char *sonde_layout_make(sonde_code_layout *layout, const uint8_t *code, uint32_t size,
                              sonde_reader exceptions, const sonde_method_edit *edit)
{
    size_t count = (size_t)size + 1;
    *layout = (sonde_code_layout){.positions = {.code = code, .size = size}};
    if (!size || size > MAX_CODE)
        return malformed;
    layout->positions.before = malloc(count * sizeof(uint32_t));
    layout->positions.at = malloc(count * sizeof(uint32_t));
    layout->prefix = calloc(count, sizeof *layout->prefix);
    layout->widened = calloc(count, sizeof *layout->widened);
    layout->handlers = calloc(count, sizeof *layout->handlers);
    if (!layout->positions.before || !layout->positions.at || !layout->prefix || !layout->widened ||
        !layout->handlers)
        return no_memory;
    memset(layout->positions.before, 0xff, count * sizeof(uint32_t));
    memset(layout->positions.at, 0xff, count * sizeof(uint32_t));
    const char *why = find_instructions(layout);
    if (!why)
        why = find_handlers(layout, exceptions);
    if (!why)
        why = find_prefixes(layout, edit);
    for (bool again = true; again && !why;) {
        place(layout);
        why = widen(layout, &again);
    }
    return why;
}

void sonde_layout_free(sonde_code_layout *layout)
{
    free(layout->positions.before);
    free(layout->positions.at);
    free(layout->prefix);
    free(layout->widened);
    free(layout->handlers);
}

// ---- writing them

static void write_switch(const sonde_positions *positions, uint32_t pc, sonde_output *to)
{
    const uint8_t *operands = switch_operands(positions, pc);
    switch_cases cases = cases_of(positions, pc);
    sonde_append_u1(to, positions->code[pc]);
    for (uint32_t i = sonde_switch_padding(positions->at[pc]); i--;)
        sonde_append_u1(to, 0);
    sonde_append_u4(to, (uint32_t)distance(positions, pc, sonde_s4(operands)));
    sonde_append(to, operands + 4, cases.fixed);
    for (uint32_t i = 0; i < cases.count; i++) {
        const uint8_t *jump = cases.first + i * cases.step;
        if (cases.step == 8) // the value before it
            sonde_append(to, jump - 4, 4);
        sonde_append_u4(to, (uint32_t)distance(positions, pc, sonde_s4(jump)));
    }
}

static void write_instruction(const sonde_code_layout *layout, uint32_t pc, uint32_t length,
                              sonde_output *to)
{
    const sonde_positions *positions = &layout->positions;
    const uint8_t *instruction = positions->code + pc;
    uint8_t op = *instruction;
    if (sonde_instruction_jumps(op)) {
        int32_t now = distance(positions, pc, sonde_s2(instruction + 1));
        bool far = layout->widened[pc];
        sonde_append_u1(to, far ? op + (SONDE_OP_GOTO_W - SONDE_OP_GOTO) : op);
        sonde_append_number(to, far ? 4 : 2, (uint32_t)now);
    } else if (sonde_instruction_jumps_far(op)) {
        sonde_append_u1(to, op);
        sonde_append_u4(to, (uint32_t)distance(positions, pc, sonde_s4(instruction + 1)));
    } else if (sonde_instruction_switches(op)) {
        write_switch(positions, pc, to);
    } else {
        sonde_append(to, instruction, length);
    }
}

void sonde_layout_write(const sonde_code_layout *layout, const sonde_method_edit *edit,
                        sonde_call_constants *constants, uint32_t number, sonde_output *to)
{
    const sonde_positions *positions = &layout->positions;
    if (edit->counted)
        sonde_append_counting_call(constants, to);
    if (edit->calls)
        sonde_append_call(constants, SONDE_CALL_ENTER, number, to);
    for (uint32_t i = 0; i < edit->insertion_count; i++)
        if (edit->insertions[i].at_entry)
            sonde_append_insertion(constants, &edit->insertions[i], to);
    for (uint32_t pc = 0, following; pc < positions->size; pc = following) {
        following = next(positions, pc);
        if (edit->calls && layout->handlers[pc])
            sonde_append_call(constants, SONDE_CALL_CATCH, number, to);
        for (uint32_t i = 0; layout->prefix[pc] && i < edit->insertion_count; i++)
            if (!edit->insertions[i].at_entry && edit->insertions[i].pc == pc)
                sonde_append_insertion(constants, &edit->insertions[i], to);
        if (sonde_edit_has_exits(edit) && sonde_instruction_returns(positions->code[pc]))
            sonde_append_call(constants, SONDE_CALL_LEAVE, number, to);
        write_instruction(layout, pc, following - pc, to);
    }
}
