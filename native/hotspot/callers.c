#define _GNU_SOURCE
#include "callers.h"

#include "../core/guard.h"
#include "../core/hot.h"
#include "blobs.h"

#include <string.h>

// ---- calls, read backwards from where they return to

typedef struct {
    uintptr_t begins;
    uintptr_t target; // 0: told by a register or by memory
} call_t;

#define LONGEST_CALL 13

// `call` through a register or memory (FF /2), which may have a prefix for the upper registers and
// be followed by a displacement: how long such a one that ends here is, 0 if none does.
SONDE_FOREIGN static unsigned indirect_call(const uint8_t *end)
{
    static const struct {
        uint8_t length, mode; // of the instruction without prefix; the two upper bits of ModRM
    } forms[] = {{2, 3}, {2, 0}, {3, 1}, {6, 2}};
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        const uint8_t *at = end - forms[i].length;
        if (at[0] == 0xff && (at[1] & 0x38) == 0x10 && at[1] >> 6 == forms[i].mode)
            return forms[i].length + ((at[-1] & 0xf0) == 0x40);
    }
    return 0;
}

// C2 calls routines that need no frame to be walked by `mov r10, …; call r10` (x86_64.ad).
SONDE_FOREIGN static bool is_far_call(const uint8_t *end)
{
    return end[-3] == 0x41 && end[-2] == 0xff && end[-1] == 0xd2 && end[-13] == 0x49 &&
           end[-12] == 0xba;
}

SONDE_HOT SONDE_FOREIGN static bool returns_from_call(uintptr_t pc, call_t *out)
{
    if (!sonde_is_generated(pc) || !sonde_is_generated(pc - LONGEST_CALL))
        return false;
    const uint8_t *end = (const uint8_t *)pc;
    if (end[-5] == 0xe8) {
        int32_t far;
        memcpy(&far, end - 4, sizeof far);
        *out = (call_t){pc - 5, pc + (uintptr_t)(intptr_t)far};
        if (sonde_is_generated(out->target))
            return true;
    }
    if (is_far_call(end)) {
        *out = (call_t){pc - 3, 0};
        memcpy(&out->target, end - 11, sizeof out->target);
        return true;
    }
    unsigned length = indirect_call(end);
    *out = (call_t){pc - length, 0};
    return length;
}

// The interpreter's calls return to places that no call stands before, and what returns there needs
// the frame pointer that its callee has saved.
SONDE_HOT SONDE_FOREIGN static bool returns(const uintptr_t *at, uintptr_t saved, call_t *out)
{
    *out = (call_t){*at, 0};
    if (sonde_is_interpreter(*at))
        return saved - (uintptr_t)at < 65536 && !(saved & 7);
    return returns_from_call(*at, out);
}

// ---- at the edges of a method

// The words between the stack pointer and the return address, by what the instruction about to be
// executed does (C1 and C2 on x86-64, 17 to 25); -1: it is none of those that make a frame or leave
// one. `*saved`: the caller's frame pointer is what lies on top.
SONDE_HOT SONDE_FOREIGN static int words_at_edge(const uint8_t *code, bool *saved)
{
    *saved = false;
    switch (code[0]) {
    case 0xc3: // ret
    case 0x55: // push rbp
        return 0;
    case 0x5d: // pop rbp
        return *saved = true;
    case 0x89: // mov [rsp - …], eax: is there enough of a stack?
        return code[1] == 0x84 && code[2] == 0x24 && code[6] == 0xff ? 0 : -1;
    case 0x48:
        if ((code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec) // sub rsp, …
            return *saved = code[-1] == 0x55;
        return -1;
    case 0x49: { // cmp rsp, [r15 + …]; ja …; ret: does anybody want this thread to stop?
        unsigned jump = code[2] == 0xa7 ? 7 : 4;
        return code[1] == 0x3b && (code[2] == 0xa7 || code[2] == 0x67) && code[jump] == 0x0f &&
                       code[jump + 1] == 0x87 && code[jump + 6] == 0xc3
                   ? 0
                   : -1;
    }
    case 0x0f:
        return code[1] == 0x87 && code[6] == 0xc3 ? 0 : -1;
    default:
        return -1;
    }
}

SONDE_HOT SONDE_FOREIGN static bool at_edge(const sonde_place *here, sonde_place *out)
{
    bool saved;
    int words = words_at_edge((const uint8_t *)here->pc, &saved);
    if (words < 0)
        return false;
    uintptr_t fp = saved ? here->sp[0] : here->fp;
    call_t call;
    if (!returns(here->sp + words, fp, &call))
        return false;
    *out = (sonde_place){call.begins, fp, here->sp + words + 1};
    return true;
}

// ---- inside of a method

// Some of what C2 puts in place of methods pushes registers for a while: comparing strings, one.
#define MOST_PUSHED 24

// The walker goes by the size of the method's frame, which is then too small.
SONDE_HOT SONDE_FOREIGN static unsigned in_method(const sonde_place *here, const sonde_blob *blob,
                                                  sonde_place *out)
{
    unsigned count = 0;
    call_t call;
    const uintptr_t *at = here->sp + blob->words - 1;
    if (returns(at, at[-1], &call))
        return SONDE_WALKABLE;
    // First the calls of this very method, then those that find it by a table.
    for (int sure = 1; sure >= 0; sure--)
        for (int pushed = 1; pushed <= MOST_PUSHED && count < SONDE_MOST_PLACES; pushed++)
            if (returns(at + pushed, at[pushed - 1], &call) &&
                sure == (call.target - blob->from <= here->pc - blob->from))
                out[count++] = (sonde_place){here->pc, here->fp, here->sp + pushed};
    return count ? count : SONDE_UNKNOWN_PLACE;
}

// ---- in routines

// They push registers, too, and make room for what they work on, in which anything may lie that was
// left there, return addresses, too.
#define MOST_ROOM 256
#define LARGEST_ROUTINE 16384
#define LARGEST_FRAME 65536

// The one return address whose call goes to this very code.
SONDE_FOREIGN static bool in_routine(const sonde_place *here, sonde_place *out)
{
    unsigned found = 0;
    for (int i = 0; i < MOST_ROOM && found < 2; i++) {
        call_t call;
        if (!returns_from_call(here->sp[i], &call) || here->pc - call.target >= LARGEST_ROUTINE)
            continue;
        *out = (sonde_place){call.begins, here->fp, here->sp + i + 1};
        found++;
    }
    return found == 1;
}

// A frame pointer may be one that this code has not touched, and lead past a caller.
SONDE_FOREIGN static bool passes_a_return(const uintptr_t *from, const uintptr_t *to)
{
    call_t call;
    for (; from < to; from++)
        if (returns_from_call(*from, &call))
            return true;
    return false;
}

SONDE_FOREIGN static bool by_frame_pointer(const sonde_place *here, sonde_place *out)
{
    const uintptr_t *frame = (const uintptr_t *)here->fp;
    call_t call;
    if (here->fp - (uintptr_t)here->sp >= LARGEST_FRAME || here->fp & 7 ||
        !returns(frame + 1, frame[0], &call) || passes_a_return(here->sp, frame))
        return false;
    *out = (sonde_place){call.begins, frame[0], frame + 2};
    return true;
}

// A routine, or a function that compiled code calls without ado, has at most a frame pointer.
SONDE_FOREIGN static unsigned called(const sonde_place *here, bool is_generated, sonde_place *out)
{
    unsigned count = 0;
    call_t call;
    if (is_generated && in_routine(here, out))
        count++;
    else if (returns(here->sp, here->fp, &call))
        out[count++] = (sonde_place){call.begins, here->fp, here->sp + 1};
    if (by_frame_pointer(here, &out[count]))
        count++;
    return count ? count : SONDE_UNKNOWN_PLACE;
}

SONDE_HOT unsigned sonde_places(const ucontext_t *context, bool in_java, sonde_place *out)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    sonde_place here = {(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RBP],
                        (const uintptr_t *)registers[REG_RSP]};
    sonde_blob blob;
    if (sonde_is_interpreter(here.pc))
        return SONDE_UNKNOWN_PLACE;
    if (!sonde_blob_at(here.pc, &blob))
        // A function without a frame has left the frame pointer alone, by which the walker goes.
        return in_java ? called(&here, false, out) : SONDE_UNKNOWN_PLACE;
    if (at_edge(&here, out))
        return 1;
    return blob.is_method && blob.words > 1 ? in_method(&here, &blob, out)
                                            : called(&here, true, out);
}
