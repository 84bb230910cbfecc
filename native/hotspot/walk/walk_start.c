#define _GNU_SOURCE
#include "hotspot/walk/walk_start.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"
#include "hotspot/vm/code_cache.h"

#include <string.h>

// ---- calls, read backwards from where they return to

typedef struct {
    uintptr_t begins;
    uintptr_t target; // 0: in a register or in memory
} call_t;

#define MAX_CALL_LENGTH 13
// Of frames that are led to by a frame pointer, in bytes.
#define MAX_FRAME_SIZE 65536

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
    if (!sonde_is_generated(pc) || !sonde_is_generated(pc - MAX_CALL_LENGTH))
        return false;
    const uint8_t *end = (const uint8_t *)pc;
    if (end[-5] == 0xe8) {
        int32_t far;
        memcpy(&far, end - 4, sizeof far);
        *out = (call_t){pc - 5, pc + (uintptr_t)(intptr_t)far};
        if (sonde_is_generated(out->target) || sonde_is_vm_code(out->target))
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

// The interpreter's calls return to places without a call before them, and what returns there needs
// the frame pointer that its callee has saved.
SONDE_HOT SONDE_FOREIGN static bool returns(const uintptr_t *at, uintptr_t saved, call_t *out)
{
    *out = (call_t){*at, 0};
    if (sonde_is_interpreter(*at))
        return saved - (uintptr_t)at < MAX_FRAME_SIZE && !(saved & 7);
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

// Where the caller is, if the return address lies there.
SONDE_HOT SONDE_FOREIGN static bool called_from(const uintptr_t *at, uintptr_t fp, sonde_place *out)
{
    call_t call;
    if (!returns(at, fp, &call))
        return false;
    *out = (sonde_place){call.begins, fp, at + 1};
    return true;
}

SONDE_HOT SONDE_FOREIGN static bool at_edge(const sonde_place *here, sonde_place *out)
{
    bool saved;
    int words = words_at_edge((const uint8_t *)here->pc, &saved);
    return words >= 0 && called_from(here->sp + words, saved ? here->sp[0] : here->fp, out);
}

// ---- inside of a method

// Some of what C2 puts in place of methods pushes registers for a while: comparing strings, one. C1
// does for what it passes to routines.
#define MAX_PUSHED 24
// Before a method makes its frame it looks whether it is the one that was meant.
#define MAX_ENTRY_LENGTH 32

static bool calls(const call_t *call, uintptr_t from, uintptr_t to)
{
    return call->target - from <= to - from;
}

// The walker goes by the size of the method's frame, which may then be too small.
SONDE_HOT SONDE_FOREIGN static void in_method(const sonde_place *here, const sonde_blob *blob,
                                              sonde_places *out)
{
    const uintptr_t *at = here->sp + blob->words - 1;
    out->count = 0;
    out->walkable = called_from(at, at[-1], &out->places[0]);
    if (out->walkable)
        return;
    call_t call;
    if (returns_from_call(here->sp[0], &call) && calls(&call, blob->from, here->pc) &&
        here->pc - call.target < MAX_ENTRY_LENGTH)
        out->places[out->count++] = (sonde_place){call.begins, here->fp, here->sp + 1};
    // First the calls of this very method, then those that found it by a table.
    unsigned most = sizeof out->places / sizeof *out->places;
    for (int sure = 1; sure >= 0; sure--)
        for (int pushed = 1; pushed <= MAX_PUSHED && out->count < most; pushed++)
            if (returns(at + pushed, at[pushed - 1], &call) &&
                sure == calls(&call, blob->from, here->pc))
                out->places[out->count++] = (sonde_place){here->pc, here->fp, here->sp + pushed};
}

// ---- in routines, and in functions that compiled code calls directly

// They push registers, too, and make room for what they work on, in which anything may lie that was
// left there, return addresses, too.
#define MAX_ROOM 256
#define MAX_ROUTINE_SIZE 16384
#define MAX_FRAMES 64

// A call of this very code? Not of a method that lies before it: where the code cache has one part
// only, they are neighbours.
SONDE_FOREIGN static bool calls_here(const sonde_place *here, const sonde_blob *of,
                                     const uintptr_t *at, call_t *call)
{
    return returns_from_call(*at, call) && calls(call, of->from, here->pc) &&
           here->pc - call->target < MAX_ROUTINE_SIZE;
}

// What an earlier call left in the room leads, by the sizes of its callers' frames, to the word
// that has been overwritten since: by the call that is under way.
SONDE_FOREIGN static bool was_left(const sonde_place *here, const sonde_blob *of,
                                   const uintptr_t *at)
{
    sonde_blob blob;
    call_t call;
    while (returns_from_call(*at, &call) && sonde_blob_at(call.begins, &blob) && blob.is_method &&
           blob.words > 1) {
        at += blob.words;
        if (at >= here->sp + MAX_ROOM)
            return false;
        if (calls_here(here, of, at, &call))
            return true;
    }
    return !sonde_is_interpreter(*at);
}

// The return address whose call goes to this very code.
SONDE_FOREIGN static bool by_target(const sonde_place *here, const sonde_blob *of, sonde_place *out)
{
    unsigned found = 0;
    call_t call;
    for (const uintptr_t *at = here->sp; at < here->sp + MAX_ROOM; at++) {
        if (!calls_here(here, of, at, &call))
            continue;
        if (!found++)
            *out = (sonde_place){call.begins, here->fp, at + 1};
        if (was_left(here, of, at))
            continue;
        *out = (sonde_place){call.begins, here->fp, at + 1};
        return true;
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

// Functions of the VM have frame pointers all along. Those of libraries that these call have, too,
// or leave the register alone.
SONDE_FOREIGN static bool by_frame_pointer(const sonde_place *here, sonde_place *out)
{
    const uintptr_t *sp = here->sp;
    uintptr_t fp = here->fp;
    for (int i = 0; i < MAX_FRAMES; i++) {
        const uintptr_t *frame = (const uintptr_t *)fp;
        if (fp - (uintptr_t)sp >= MAX_FRAME_SIZE || fp & 7 || passes_a_return(sp, frame))
            return false;
        if (sonde_is_generated(frame[1]))
            return called_from(frame + 1, frame[0], out);
        sp = frame + 2;
        fp = frame[0];
    }
    return false;
}

// `of`: what the place is a part of, NULL if it is not generated.
SONDE_FOREIGN static bool caller_of(const sonde_place *here, const sonde_blob *of, sonde_place *out)
{
    if (of && by_target(here, of, out))
        return true;
    // What has no frame, or none yet.
    if (called_from(here->sp, here->fp, out) ||
        (here->sp[0] == here->fp && called_from(here->sp + 1, here->fp, out)))
        return true;
    return by_frame_pointer(here, out);
}

// ---- all of it

// A routine may be called by another one.
#define MAX_ROUTINES 3

// From a place that calls.
SONDE_HOT static void resolve(sonde_place here, sonde_places *out)
{
    sonde_place caller;
    sonde_blob blob;
    for (int i = 0; i < MAX_ROUTINES; i++, here = caller) {
        if (sonde_is_interpreter(here.pc)) {
            *out = (sonde_places){.count = 1, .places = {here}};
            return;
        }
        if (!sonde_blob_at(here.pc, &blob))
            break;
        if (blob.is_method && blob.words > 1) {
            in_method(&here, &blob, out);
            if (out->walkable)
                *out = (sonde_places){.count = 1, .places = {here}};
            return;
        }
        if (!caller_of(&here, &blob, &caller))
            break;
    }
    out->count = 0;
}

SONDE_HOT void sonde_find_places(const ucontext_t *context, bool in_java, sonde_places *out)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    sonde_place caller, here = {(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RBP],
                                (const uintptr_t *)registers[REG_RSP]};
    sonde_blob blob;
    out->walkable = false;
    out->count = 0;
    if (sonde_is_interpreter(here.pc))
        return;
    if (!sonde_blob_at(here.pc, &blob)) {
        // A function without a frame has left the frame pointer alone, by which the walker goes.
        if (in_java && caller_of(&here, NULL, &caller))
            resolve(caller, out);
    } else if (at_edge(&here, &caller)) {
        resolve(caller, out);
    } else if (blob.is_method && blob.words > 1) {
        in_method(&here, &blob, out);
        out->count += out->walkable; // where it is not: its frame is made, but not believed to be
    } else if (caller_of(&here, &blob, &caller)) {
        resolve(caller, out);
    }
}

SONDE_FOREIGN void sonde_find_places_below(const sonde_place *left, sonde_places *out)
{
    sonde_blob blob;
    sonde_place caller;
    out->walkable = false;
    out->count = 0;
    if (sonde_blob_at(left->pc, &blob) && !blob.is_method && blob.words > 1 &&
        called_from(left->sp + blob.words - 1, left->sp[blob.words - 2], &caller))
        resolve(caller, out);
}
