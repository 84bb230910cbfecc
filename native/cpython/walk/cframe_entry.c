#include "cpython/walk/cframe_entry.h"

#include "core/base/hot.h"
#include "core/signals/fault_guard.h"

#if PY_VERSION_HEX < 0x030D0000

#include <stddef.h>
#include <string.h>

#if !defined(__x86_64__)
#error "state how this processor stores a register and where a handler finds the registers"
#endif

// Both stores come this early (+0x42 to +0x60 in a gcc 12 build of 3.11.7, +0x30 to +0xae
// of 3.12.1).
#define LOOKED_AT 512
// Where they are not found, any of the first instructions may be between them.
#define DOUBTFUL 256

static const uint8_t *from, *to;
static bool exact;

enum { RSP = 4, RBP = 5 };

// An operand disp(%rsp) or disp(%rbp) whose ModRM byte is at `at`: its length, 0 if it is another.
static int stack_operand(const uint8_t *at, int *base, int *disp)
{
    int mod = at[0] >> 6, rm = at[0] & 7, length = 1;
    if ((mod != 1 && mod != 2) || (rm != RSP && rm != RBP) || (rm == RSP && at[1] != 0x24))
        return 0;
    length += rm == RSP;
    *base = rm;
    if (mod == 1) {
        *disp = (int8_t)at[length];
        return length + 1;
    }
    int32_t wide;
    memcpy(&wide, at + length, sizeof wide);
    *disp = wide;
    return length + 4;
}

// The last `lea disp(%rsp or %rbp), reg` before `end`.
static bool lea_before(const uint8_t *code, const uint8_t *end, int reg, int *base, int *disp)
{
    bool found = false;
    for (const uint8_t *at = code; at + 8 <= end + 4; at++)
        if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d &&
            ((at[2] >> 3 & 7) | (at[0] & 4) << 1) == reg && stack_operand(at + 2, base, disp))
            found = true;
    return found;
}

// mov, movups, movaps, movdqa/movdqu and movq to memory
static bool stores(uint8_t opcode)
{
    return opcode == 0x89 || opcode == 0x11 || opcode == 0x29 || opcode == 0x7f || opcode == 0xd6;
}

// Finds the instructions between the two stores. The first thread that needs them does: all find
// the same.
static void find(void)
{
    const uint8_t *code = (const uint8_t *)&_PyEval_EvalFrameDefault;
    for (const uint8_t *at = code; at < code + LOOKED_AT && !exact; at++) {
        // mov reg, offsetof(cframe)(tstate), the register holding an address on the stack
        if ((at[0] & 0xf8) != 0x48 || at[1] != 0x89 || at[2] >> 6 != 1 || (at[2] & 7) == RSP ||
            at[3] != offsetof(PyThreadState, cframe))
            continue;
        int base = 0, disp = 0, base2 = 0, disp2 = 0;
        if (!lea_before(code, at, (at[2] >> 3 & 7) | (at[0] & 4) << 1, &base, &disp))
            continue;
        for (const uint8_t *store = at + 4; store < code + LOOKED_AT; store++) {
            int length = stores(store[0]) ? stack_operand(store + 1, &base2, &disp2) : 0;
            if (length && base2 == base &&
                disp2 == disp + (int)offsetof(_PyCFrame, current_frame)) {
                from = at + 4;
                to = store + 1 + length;
                exact = true;
                break;
            }
        }
    }
    if (!exact) {
        from = code;
        to = code + DOUBTFUL;
    }
}

static bool on_stack_above(const void *pointer, const void *below)
{
    // Wherever the stack ends, a C frame more than this above another is none of the same thread.
    return !((uintptr_t)pointer & 7) && (uintptr_t)pointer > (uintptr_t)below &&
           (uintptr_t)pointer - (uintptr_t)below < (64u << 20);
}

// Is this a C frame of the thread? The chain of them leads upwards to the one in its state. What is
// none may lie anywhere on the stack, in frames of our own as well.
SONDE_FOREIGN static bool is_cframe(const PyThreadState *state, const _PyCFrame *c,
                                    const void *below)
{
    while (c != &state->root_cframe) {
        if (!on_stack_above(c, below))
            return false;
        below = c;
        c = c->previous;
    }
    return true;
}

// The C frame before `empty`, which the interpreter has in some register: it is about to store it.
static const _PyCFrame *previous_cframe(const PyThreadState *state, const _PyCFrame *empty,
                                        const ucontext_t *context)
{
    for (int i = REG_R8; i <= REG_RSP; i++) {
        const _PyCFrame *c = (const _PyCFrame *)context->uc_mcontext.gregs[i];
        if (is_cframe(state, c, empty))
            return c;
    }
    if (!context->uc_mcontext.fpregs)
        return NULL;
    for (int i = 0; i < 16; i++) {
        const _PyCFrame *halves[2];
        memcpy(halves, &context->uc_mcontext.fpregs->_xmm[i], sizeof halves);
        for (int half = 0; half < 2; half++)
            if (is_cframe(state, halves[half], empty))
                return halves[half];
    }
    return NULL;
}

SONDE_HOT const _PyCFrame *sonde_entry_cframe(const PyThreadState *state, const ucontext_t *context)
{
    const _PyCFrame *current = (const _PyCFrame *)state->cframe;
    if (!context || !current)
        return current;
    if (!to)
        find();
    const uint8_t *pc = (const uint8_t *)sonde_context_pc(context);
    if (pc < from || pc >= to)
        return current;
    const _PyCFrame *previous = previous_cframe(state, current, context);
    return previous || exact ? previous : current;
}

#endif
