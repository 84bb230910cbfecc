#define _GNU_SOURCE
#include "hotspot/walk/machine_frames.h"

#include "core/base/hash.h"
#include "core/base/hot.h"
#include "core/signals/fault_guard.h"

#include <stddef.h>

// Of the interpreter's frames, from the frame pointer (frame_x86.hpp, 17 to 25).
enum { INTERPRETED_SENDER_SP = -1, INTERPRETED_METHOD = -3, INTERPRETED_BYTECODE = -8 };

// A stack is not that large; what is farther away is not part of it.
#define MAX_STEP (1u << 20)

SONDE_HOT static sonde_frame_kind kind_at(uintptr_t pc, sonde_blob *blob)
{
    if (sonde_is_interpreter(pc))
        return SONDE_INTERPRETED_FRAME;
    if (sonde_is_entry(pc))
        return SONDE_ENTRY_FRAME;
    return sonde_blob_at(pc, blob) && blob->is_method && blob->words > 1 && blob->number &&
                   pc < blob->code_to
               ? SONDE_COMPILED_FRAME
               : SONDE_OTHER_FRAME;
}

SONDE_HOT void sonde_frame_at(const sonde_place *place, sonde_machine_frame *out)
{
    out->at = *place;
    out->slot = NULL;
    out->kind = kind_at(place->pc, &out->blob);
}

SONDE_HOT SONDE_FOREIGN bool sonde_frame_caller(const sonde_machine_frame *of,
                                                sonde_machine_frame *out)
{
    const uintptr_t *slot, *sp;
    if (of->kind == SONDE_INTERPRETED_FRAME) {
        const uintptr_t *fp = (const uintptr_t *)of->at.fp;
        if ((uintptr_t)fp & 7) // no frame: other code used the register
            return false;
        slot = fp + 1;
        // Arguments that were moved for the interpreter lie between the two.
        sp = (const uintptr_t *)fp[INTERPRETED_SENDER_SP];
    } else {
        sp = of->at.sp + of->blob.words;
        slot = sp - 1;
    }
    const uintptr_t *from = of->slot ? of->slot : of->at.sp;
    if ((uintptr_t)slot - (uintptr_t)from >= MAX_STEP || ((uintptr_t)slot & 7) ||
        (uintptr_t)sp - (uintptr_t)slot >= MAX_STEP)
        return false;
    // Compiled code saves the frame pointer first of all, and so does the interpreter.
    out->at = (sonde_place){slot[0], slot[-1], sp};
    out->slot = slot;
    out->kind = kind_at(out->at.pc, &out->blob);
    return true;
}

SONDE_FOREIGN uintptr_t sonde_interpreted_method(uintptr_t fp)
{
    return ((const uintptr_t *)fp)[INTERPRETED_METHOD];
}

static uint64_t mixed(uint64_t value, uint64_t with)
{
    return sonde_hash(value ^ with) + (value >> 29);
}

SONDE_HOT SONDE_FOREIGN uint64_t sonde_frame_check(const uintptr_t *slot)
{
    uintptr_t pc = slot[0];
    if (!sonde_is_interpreter(pc))
        return pc;
    // All of the interpreter's frames return to a few places: what each of them is in, it keeps.
    const uintptr_t *fp = (const uintptr_t *)slot[-1];
    uint64_t check = mixed(pc, (uintptr_t)fp);
    check = mixed(check, fp[INTERPRETED_SENDER_SP]);
    check = mixed(check, fp[INTERPRETED_METHOD]);
    return mixed(check, fp[INTERPRETED_BYTECODE]);
}
