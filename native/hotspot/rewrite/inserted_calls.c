#include "hotspot/rewrite/inserted_calls.h"

#include "hotspot/rewrite/instructions.h"

const sonde_call_target sonde_call_targets[SONDE_CALLS] = {
    [SONDE_CALL_ENTER] = {"enter", "(I)V"},
    [SONDE_CALL_LEAVE] = {"leave", "(I)V"},
    [SONDE_CALL_UNWIND] = {"unwind", "(I)V"},
    [SONDE_CALL_CATCH] = {"caught", "(I)V"},
    [SONDE_CALL_INTEGER] = {"integer", "(JI)V"},
    [SONDE_CALL_REAL] = {"real", "(DI)V"},
    [SONDE_CALL_OBJECT] = {"object", "(Ljava/lang/Object;I)V"},
    [SONDE_CALL_PASS] = {"pass", "(I)V"},
    [SONDE_CALL_ACQUIRES] = {"acquires", "(Ljava/lang/Object;I)V"},
    [SONDE_CALL_ACQUIRED] = {"acquired", "(I)V"},
    [SONDE_CALL_RELEASES] = {"releases", "(Ljava/lang/Object;I)V"},
    [SONDE_CALL_HOLDS] = {"holds", "(Ljava/lang/Object;I)V"},
    [SONDE_CALL_COUNT] = {"count", "()V"},
};

uint32_t sonde_call_constant(sonde_call_constants *constants, uint32_t call)
{
    const sonde_call_target *target = &sonde_call_targets[call];
    if (!constants->class)
        constants->class = sonde_pool_add_class(constants->pool, constants->target_class);
    if (!constants->calls[call])
        constants->calls[call] = sonde_pool_add_method(constants->pool, constants->class,
                                                       target->name, target->descriptor);
    return constants->calls[call];
}

uint32_t sonde_throwable_constant(sonde_call_constants *constants)
{
    if (!constants->throwable)
        constants->throwable = sonde_pool_add_class(constants->pool, "java/lang/Throwable");
    return constants->throwable;
}

uint32_t sonde_stack_map_constant(sonde_call_constants *constants)
{
    if (!constants->stack_map)
        constants->stack_map = sonde_pool_add_utf8(constants->pool, "StackMapTable");
    return constants->stack_map;
}

void sonde_append_call(sonde_call_constants *constants, uint32_t call, uint32_t number,
                       sonde_output *to)
{
    sonde_append_u1(to, SONDE_OP_LDC_W);
    sonde_append_u2(to, number);
    sonde_append_u1(to, SONDE_OP_INVOKESTATIC);
    sonde_append_u2(to, sonde_call_constant(constants, call));
}

void sonde_append_counting_call(sonde_call_constants *constants, sonde_output *to)
{
    sonde_append_u1(to, SONDE_OP_INVOKESTATIC);
    sonde_append_u2(to, sonde_call_constant(constants, SONDE_CALL_COUNT));
}

// How a value of a type is loaded, widened (0: it need not be) and reported.
typedef struct {
    uint8_t load, widen;
    uint32_t call;
} reported_type;

static reported_type reported_as(char type)
{
    switch (type) {
    case SONDE_INSERT_PASS:
        return (reported_type){0, 0, SONDE_CALL_PASS};
    case 'J':
        return (reported_type){SONDE_OP_ILOAD + 1, 0, SONDE_CALL_INTEGER};
    case 'F':
        return (reported_type){SONDE_OP_ILOAD + 2, 0x8d, SONDE_CALL_REAL};
    case 'D':
        return (reported_type){SONDE_OP_ILOAD + 3, 0, SONDE_CALL_REAL};
    case SONDE_INSERT_CLASS:
        return (reported_type){SONDE_OP_LDC_W, 0, SONDE_CALL_OBJECT};
    case SONDE_INSERT_ACQUIRES:
        return (reported_type){SONDE_OP_DUP, 0, SONDE_CALL_ACQUIRES};
    case SONDE_INSERT_ACQUIRED:
        return (reported_type){0, 0, SONDE_CALL_ACQUIRED};
    case SONDE_INSERT_RELEASES:
        return (reported_type){SONDE_OP_DUP, 0, SONDE_CALL_RELEASES};
    case SONDE_INSERT_HOLDS_THIS:
        return (reported_type){SONDE_OP_ILOAD + 4, 0, SONDE_CALL_HOLDS};
    case SONDE_INSERT_HOLDS_CLASS:
        return (reported_type){SONDE_OP_LDC_W, 0, SONDE_CALL_HOLDS};
    case 'L':
    case '[':
        return (reported_type){SONDE_OP_ILOAD + 4, 0, SONDE_CALL_OBJECT};
    default: // Z, B, C, S, I
        return (reported_type){SONDE_OP_ILOAD, 0x85, SONDE_CALL_INTEGER};
    }
}

uint32_t sonde_insertion_size(const sonde_insertion *insertion)
{
    reported_type as = reported_as(insertion->type);
    uint32_t load = !as.load ? 0 : insertion->variable > 255 ? 4 : 2;
    if (as.load == SONDE_OP_LDC_W)
        load = 3;
    else if (as.load == SONDE_OP_DUP)
        load = 1;
    return load + (as.widen != 0) + SONDE_INSERTED_CALL_SIZE;
}

void sonde_append_insertion(sonde_call_constants *constants, const sonde_insertion *insertion,
                            sonde_output *to)
{
    reported_type as = reported_as(insertion->type);
    if (as.load == SONDE_OP_LDC_W) {
        sonde_append_u1(to, as.load);
        sonde_append_u2(to, constants->this_class);
    } else if (as.load == SONDE_OP_DUP) {
        sonde_append_u1(to, as.load);
    } else if (as.load && insertion->variable > 255) {
        sonde_append_u1(to, SONDE_OP_WIDE);
        sonde_append_u1(to, as.load);
        sonde_append_u2(to, insertion->variable);
    } else if (as.load) {
        sonde_append_u1(to, as.load);
        sonde_append_u1(to, insertion->variable);
    }
    if (as.widen)
        sonde_append_u1(to, as.widen);
    uint32_t number = sonde_pool_add_integer(constants->pool, insertion->number);
    sonde_append_call(constants, as.call, number, to);
}
