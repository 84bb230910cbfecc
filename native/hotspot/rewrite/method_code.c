#include "hotspot/rewrite/method_code.h"

#include "hotspot/rewrite/code_layout.h"
#include "hotspot/rewrite/instructions.h"
#include "hotspot/rewrite/stack_map.h"

#define MAX_CODE 65535u
// Class files of this version and newer have stack maps.
#define STACK_MAPS_SINCE 50u
#define NO_CALL UINT32_MAX

static const char malformed[] = "its code is malformed";
static const char unknown_attribute[] = "its code has an attribute that sonde does not know";

typedef struct {
    sonde_call_constants *constants;
    const sonde_method_kind *kind;
    const sonde_method_edit *edit;
    sonde_code_layout layout;
    uint32_t begun;   // after the constructor's call of another one; 0: the whole method
    uint32_t handler; // of all exceptions, in the new code; 0: none
    sonde_output *to;
} rewriting;

// ---- constructors: until one has called another, `this` is no object yet

// After the call of another constructor of the same object; NO_CALL if there is not one.
static uint32_t after_other_constructor(const rewriting *rewriting)
{
    const sonde_positions *positions = &rewriting->layout.positions;
    uint32_t pending = 0, found = NO_CALL; // objects made, whose constructor is not called yet
    for (uint32_t pc = 0, length; pc < positions->size; pc += length) {
        const uint8_t *instruction = positions->code + pc;
        length = sonde_instruction_length(positions->code, positions->size, pc);
        if (*instruction == SONDE_OP_NEW)
            pending++;
        if (*instruction != SONDE_OP_INVOKESPECIAL)
            continue;
        uint32_t method = (uint32_t)instruction[1] << 8 | instruction[2];
        if (!sonde_utf8_is(sonde_pool_method_name(rewriting->constants->pool, method), "<init>"))
            continue;
        if (pending)
            pending--;
        else if (found == NO_CALL)
            found = pc + length;
        else
            return NO_CALL; // in branches
    }
    return found;
}

// ---- what refers to places

static void move_exceptions(rewriting *rewriting, sonde_reader *old, const char **why)
{
    const sonde_positions *positions = &rewriting->layout.positions;
    uint32_t count = sonde_read_u2(old);
    uint32_t added = rewriting->handler != 0;
    if (count + added > UINT16_MAX)
        *why = "its table of exceptions is too long";
    sonde_append_u2(rewriting->to, count + added);
    while (count-- && !*why) {
        uint32_t start = sonde_read_u2(old), end = sonde_read_u2(old);
        uint32_t handler = sonde_read_u2(old), type = sonde_read_u2(old);
        if (!sonde_is_instruction(positions, start) || end <= start ||
            (end != positions->size && !sonde_is_instruction(positions, end)) ||
            !sonde_is_instruction(positions, handler)) {
            *why = malformed;
            return;
        }
        sonde_append_u2(rewriting->to, positions->before[start]);
        sonde_append_u2(rewriting->to, positions->before[end]);
        sonde_append_u2(rewriting->to, positions->before[handler]);
        sonde_append_u2(rewriting->to, type);
    }
    if (!added)
        return;
    // After all others: these come first.
    sonde_append_u2(rewriting->to, positions->before[rewriting->begun]);
    sonde_append_u2(rewriting->to, positions->before[positions->size]);
    sonde_append_u2(rewriting->to, rewriting->handler);
    sonde_append_u2(rewriting->to, 0);
}

// In tables for debuggers places need not be those of instructions.
static uint32_t move_loosely(const sonde_positions *positions, uint32_t pc)
{
    if (!pc)
        return 0;
    while (pc < positions->size && positions->before[pc] == SONDE_NO_INSTRUCTION)
        pc++;
    return positions->before[pc < positions->size ? pc : positions->size];
}

static void move_lines(rewriting *rewriting, sonde_reader old)
{
    uint32_t count = sonde_read_u2(&old);
    sonde_append_u2(rewriting->to, count);
    while (count-- && !old.failed) {
        sonde_append_u2(rewriting->to,
                        move_loosely(&rewriting->layout.positions, sonde_read_u2(&old)));
        sonde_append_u2(rewriting->to, sonde_read_u2(&old));
    }
}

static void move_variables(rewriting *rewriting, sonde_reader old)
{
    uint32_t count = sonde_read_u2(&old);
    sonde_append_u2(rewriting->to, count);
    while (count-- && !old.failed) {
        uint32_t start = sonde_read_u2(&old), length = sonde_read_u2(&old);
        uint32_t moved = move_loosely(&rewriting->layout.positions, start);
        uint32_t end = move_loosely(&rewriting->layout.positions, start + length);
        sonde_append_u2(rewriting->to, moved);
        sonde_append_u2(rewriting->to, end - moved);
        sonde_append_u4(rewriting->to, sonde_read_u4(&old)); // name, type
        sonde_append_u2(rewriting->to, sonde_read_u2(&old));
    }
}

static const char *move_stack_map(rewriting *rewriting, sonde_reader old)
{
    uint32_t handler = rewriting->handler;
    return sonde_stack_map_move(old, &rewriting->layout.positions, handler,
                                handler ? sonde_throwable_constant(rewriting->constants) : 0,
                                rewriting->to);
}

// ---- attributes

enum { DROP, LINES, VARIABLES, STACK_MAP, UNKNOWN };

static int attribute_of(sonde_utf8 name)
{
    static const struct {
        const char *name;
        int is;
    } known[] = {
        {"LineNumberTable", LINES},
        {"LocalVariableTable", VARIABLES},
        {"LocalVariableTypeTable", VARIABLES},
        {"StackMapTable", STACK_MAP},
        // Their places would be wrong, and the VM does not read them.
        {"RuntimeVisibleTypeAnnotations", DROP},
        {"RuntimeInvisibleTypeAnnotations", DROP},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sonde_utf8_is(name, known[i].name))
            return known[i].is;
    return UNKNOWN;
}

static void begin_attribute(sonde_output *to, uint32_t name, size_t *size_at)
{
    sonde_append_u2(to, name);
    *size_at = to->size;
    sonde_append_u4(to, 0);
}

static void end_attribute(sonde_output *to, size_t size_at)
{
    if (!to->failed)
        sonde_put_number(to->data + size_at, 4, (uint32_t)(to->size - size_at - 4));
}

static const char *move_attributes(rewriting *rewriting, sonde_reader *old)
{
    sonde_output *to = rewriting->to;
    size_t count_at = to->size, size_at;
    uint32_t written = 0;
    bool mapped = false;
    const char *why = NULL;
    sonde_append_u2(to, 0);
    for (uint32_t count = sonde_read_u2(old); count-- && !why;) {
        uint32_t name = sonde_read_u2(old);
        sonde_reader content = sonde_read_part(old, sonde_read_u4(old));
        if (old->failed)
            return malformed;
        int attribute = attribute_of(sonde_pool_utf8(rewriting->constants->pool, name));
        if (attribute == UNKNOWN)
            return unknown_attribute;
        if (attribute == DROP)
            continue;
        begin_attribute(to, name, &size_at);
        if (attribute == LINES)
            move_lines(rewriting, content);
        else if (attribute == VARIABLES)
            move_variables(rewriting, content);
        else
            why = move_stack_map(rewriting, content);
        mapped |= attribute == STACK_MAP;
        end_attribute(to, size_at);
        written++;
    }
    if (!why && !mapped && rewriting->handler && rewriting->kind->major >= STACK_MAPS_SINCE) {
        begin_attribute(to, sonde_stack_map_constant(rewriting->constants), &size_at);
        why = move_stack_map(rewriting, (sonde_reader){0});
        end_attribute(to, size_at);
        written++;
    }
    if (!to->failed)
        sonde_put_number(to->data + count_at, 2, written);
    return why;
}

// ---- the whole

static const char *find_handler(rewriting *rewriting)
{
    const sonde_method_kind *kind = rewriting->kind;
    const sonde_positions *positions = &rewriting->layout.positions;
    if (!sonde_edit_has_exits(rewriting->edit))
        return NULL;
    // No handler may catch what the call of the other constructor throws: the types in it would
    // be those before and after the call.
    if (kind->constructor && !kind->object)
        rewriting->begun = after_other_constructor(rewriting);
    if (rewriting->begun == NO_CALL)
        return "a constructor calls no other, or in branches";
    if (rewriting->begun < positions->size)
        rewriting->handler = positions->before[positions->size];
    return NULL;
}

static void write_code(rewriting *rewriting)
{
    sonde_output *to = rewriting->to;
    const sonde_method_edit *edit = rewriting->edit;
    uint32_t number = sonde_edit_has_exits(edit)
                          ? sonde_pool_add_integer(rewriting->constants->pool, edit->number)
                          : 0;
    sonde_layout_write(&rewriting->layout, edit, rewriting->constants, number, to);
    if (rewriting->handler) {
        sonde_append_call(rewriting->constants, SONDE_CALL_UNWIND, number, to);
        sonde_append_u1(to, SONDE_OP_ATHROW);
    }
}

static const char *rewrite(rewriting *rewriting, sonde_reader *old)
{
    const sonde_method_edit *edit = rewriting->edit;
    uint32_t stack = sonde_read_u2(old), variables = sonde_read_u2(old);
    uint32_t size = sonde_read_u4(old);
    const uint8_t *code = sonde_read_bytes(old, size);
    if (!code)
        return malformed;
    const char *why = sonde_layout_make(&rewriting->layout, code, size, *old, edit);
    if (why || (why = find_handler(rewriting)))
        return why;
    sonde_output *to = rewriting->to;
    stack += edit->insertion_count ? SONDE_INSERTION_STACK : sonde_edit_has_exits(edit);
    if (sonde_edit_has_exits(edit) && stack < 2) // a handler's exception and number
        stack = 2;
    if (stack > UINT16_MAX)
        return "its stack would be too deep";
    sonde_append_u2(to, stack);
    sonde_append_u2(to, variables);
    size_t size_at = to->size;
    sonde_append_u4(to, 0);
    write_code(rewriting);
    uint32_t written = (uint32_t)(to->size - size_at - 4);
    if (written > MAX_CODE)
        return "it would be longer than 64 KB";
    if (!to->failed)
        sonde_put_number(to->data + size_at, 4, written);
    move_exceptions(rewriting, old, &why);
    if (why || (why = move_attributes(rewriting, old)))
        return why;
    return old->failed || old->at != old->size ? malformed : NULL;
}

const char *sonde_method_code_rewrite(sonde_reader old, sonde_call_constants *constants,
                                      const sonde_method_kind *kind, const sonde_method_edit *edit,
                                      sonde_output *to)
{
    rewriting rewriting = {.constants = constants, .kind = kind, .edit = edit, .to = to};
    const char *why = rewrite(&rewriting, &old);
    sonde_layout_free(&rewriting.layout);
    if (!why && constants->pool->full)
        why = "its class has too many constants";
    return !why && to->failed ? "no memory" : why;
}
