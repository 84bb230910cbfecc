// The StackMapTable of a method: which types are on the stack and in variables where jumps go to.
#ifndef SONDE_HOTSPOT_STACK_MAP_H
#define SONDE_HOTSPOT_STACK_MAP_H

#include "hotspot/rewrite/bytes.h"
#include "hotspot/rewrite/positions.h"

// Appends the table's content: the frames in `old`, moved, and that of a handler of all exceptions
// in the new code after them (0: there is none), which catches the class `throwable`. NULL, or why
// not.
const char *sonde_stack_map_move(sonde_reader old, const sonde_positions *positions,
                                 uint32_t handler, uint32_t throwable, sonde_output *to);

#endif
