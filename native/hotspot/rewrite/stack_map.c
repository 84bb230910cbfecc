#include "hotspot/rewrite/stack_map.h"

#include "hotspot/rewrite/instructions.h"

enum { // types of frames (JVMS 4.7.4), the first of each
    SAME_WITH_ONE = 64,
    RESERVED = 128,
    SAME_WITH_ONE_FAR = 247,
    CHOP = 248,
    SAME_FAR = 251,
    APPEND = 252,
    FULL = 255,
};

enum { OBJECT = 7, UNINITIALIZED = 8 }; // types of values, of which no other has operands

static const char malformed[] = "its stack map is malformed";

static const char *move_types(sonde_reader *old, uint32_t count, const sonde_positions *positions,
                              sonde_output *to)
{
    while (count--) {
        uint32_t type = sonde_read_u1(old);
        sonde_append_u1(to, type);
        if (type > UNINITIALIZED || old->failed)
            return malformed;
        if (type == OBJECT)
            sonde_append_u2(to, sonde_read_u2(old));
        if (type == UNINITIALIZED) {
            uint32_t made = sonde_read_u2(old); // by the instruction there
            if (!sonde_is_instruction(positions, made))
                return malformed;
            sonde_append_u2(to, positions->at[made]);
        }
    }
    return NULL;
}

static const char *move_frame(sonde_reader *old, uint32_t type, uint32_t delta,
                              const sonde_positions *positions, sonde_output *to)
{
    if (type < SAME_WITH_ONE || type == SAME_FAR) {
        if (delta < SAME_WITH_ONE) {
            sonde_append_u1(to, delta);
        } else {
            sonde_append_u1(to, SAME_FAR);
            sonde_append_u2(to, delta);
        }
        return NULL;
    }
    if (type < RESERVED || type == SAME_WITH_ONE_FAR) {
        if (delta < SAME_WITH_ONE) {
            sonde_append_u1(to, SAME_WITH_ONE + delta);
        } else {
            sonde_append_u1(to, SAME_WITH_ONE_FAR);
            sonde_append_u2(to, delta);
        }
        return move_types(old, 1, positions, to);
    }
    sonde_append_u1(to, type);
    sonde_append_u2(to, delta);
    if (type < FULL)
        return move_types(old, type < APPEND ? 0 : type - SAME_FAR, positions, to);
    for (int variables = 1; variables >= 0; variables--) {
        uint32_t count = sonde_read_u2(old);
        sonde_append_u2(to, count);
        const char *why = move_types(old, count, positions, to);
        if (why)
            return why;
    }
    return NULL;
}

const char *sonde_stack_map_move(sonde_reader old, const sonde_positions *positions,
                                 uint32_t handler, uint32_t throwable, sonde_output *to)
{
    uint32_t count = old.size ? sonde_read_u2(&old) : 0;
    if (count + (handler != 0) > UINT16_MAX)
        return "its stack map is too long";
    sonde_append_u2(to, count + (handler != 0));
    int64_t pc = -1, moved = -1; // of the frame before
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = sonde_read_u1(&old);
        if (type >= RESERVED && type < SAME_WITH_ONE_FAR)
            return malformed;
        uint32_t delta = type < SAME_WITH_ONE ? type
                         : type < RESERVED    ? type - SAME_WITH_ONE
                                              : sonde_read_u2(&old);
        pc += (int64_t)delta + 1;
        if (!sonde_is_instruction(positions, pc))
            return malformed;
        const char *why =
            move_frame(&old, type, (uint32_t)(positions->before[pc] - moved - 1), positions, to);
        if (why)
            return why;
        moved = positions->before[pc];
    }
    if (old.failed || old.at != old.size)
        return malformed;
    if (handler) { // no variable is of use to it, and the exception is on the stack
        sonde_append_u1(to, FULL);
        sonde_append_u2(to, (uint32_t)(handler - moved - 1));
        sonde_append_u2(to, 0);
        sonde_append_u2(to, 1);
        sonde_append_u1(to, OBJECT);
        sonde_append_u2(to, throwable);
    }
    return NULL;
}
