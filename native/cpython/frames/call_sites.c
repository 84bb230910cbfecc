#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-variable"
#endif
// The tables of opcodes are not exported; the headers can define a copy of our own.
#define NEED_OPCODE_TABLES
#define NEED_OPCODE_METADATA
#include "cpython/frames/call_sites.h"

#include "core/base/hash.h"
#include "core/base/hot.h"
#include "opcode.h"
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_opcode_metadata.h"
#else
#include "internal/pycore_opcode.h"
#endif

#include <string.h>

#ifndef MIN_INSTRUMENTED_OPCODE
#define MIN_INSTRUMENTED_OPCODE 256 // 3.11 has no instrumented instructions
#endif

#define UNKNOWN (-1)

typedef struct {
    int opcode, oparg;
    Py_ssize_t at, next; // at: after any EXTENDED_ARG
} instr_t;

// What an instruction was before sys.monitoring (3.12) put its own in the place; itself where that
// cannot be derived from it. Our own windows instrument these, see call_counter.c.
static int plain(int opcode)
{
    switch (opcode) {
#ifdef INSTRUMENTED_RESUME
    case INSTRUMENTED_RESUME:
        return RESUME;
    case INSTRUMENTED_CALL:
        return CALL;
    case INSTRUMENTED_CALL_FUNCTION_EX:
        return CALL_FUNCTION_EX;
    case INSTRUMENTED_LOAD_SUPER_ATTR:
        return LOAD_SUPER_ATTR;
#endif
#ifdef INSTRUMENTED_CALL_KW
    case INSTRUMENTED_CALL_KW:
        return CALL_KW;
#endif
    default:
        return opcode;
    }
}

// The instruction at or after `at` with its full argument; false at one that hides what it is.
static bool read_instr(const uint8_t *bytes, Py_ssize_t n, Py_ssize_t at, instr_t *out)
{
    int arg = 0;
    for (; at < n; at++) {
        int opcode = plain(bytes[2 * at]);
#ifdef ENTER_EXECUTOR
        if (opcode == ENTER_EXECUTOR)
            return false;
#endif
        if (opcode >= MIN_INSTRUMENTED_OPCODE)
            return false;
        opcode = _PyOpcode_Deopt[opcode];
        arg = arg << 8 | bytes[2 * at + 1];
        if (opcode == EXTENDED_ARG)
            continue;
        *out = (instr_t){opcode, arg, at, at + 1 + _PyOpcode_Caches[opcode]};
        return true;
    }
    return false;
}

static bool falls_through(int opcode)
{
    switch (opcode) {
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
    case RETURN_VALUE:
    case RAISE_VARARGS:
    case RERAISE:
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
#ifdef INTERPRETER_EXIT
    case INTERPRETER_EXIT:
#endif
        return false;
    default:
        return true;
    }
}

// Where an instruction may jump to, -1 if it never jumps.
static Py_ssize_t jump_target(const instr_t *i)
{
    switch (i->opcode) {
    case JUMP_FORWARD:
    case FOR_ITER:
    case SEND:
#if PY_VERSION_HEX < 0x030C0000
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
#else
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
#endif
        return i->next + i->oparg;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
#if PY_VERSION_HEX < 0x030C0000
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
        return i->next - i->oparg;
    default:
        return -1;
    }
}

// The exception table gives the depth each handler starts with: what it keeps, the instruction's
// index where that is wanted, and the exception.
static Py_ssize_t varint(const uint8_t **at, const uint8_t *end)
{
    Py_ssize_t value = 0;
    while (*at < end) {
        uint8_t byte = *(*at)++;
        value = value << 6 | (byte & 63);
        if (!(byte & 64))
            break;
    }
    return value;
}

static void mark_handlers(const PyCodeObject *code, int16_t *depth, Py_ssize_t n)
{
    PyObject *table = code->co_exceptiontable;
    if (!table || !PyBytes_Check(table))
        return;
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(table);
    const uint8_t *end = at + PyBytes_GET_SIZE(table);
    while (at < end) {
        varint(&at, end); // start
        varint(&at, end); // length
        Py_ssize_t target = varint(&at, end);
        Py_ssize_t kept = varint(&at, end);
        if (target >= 0 && target < n)
            depth[target] = (int16_t)((kept >> 1) + (kept & 1) + 1);
    }
}

static void note(int16_t *depth, Py_ssize_t n, Py_ssize_t at, int value)
{
    if (at >= 0 && at < n && depth[at] == UNKNOWN && value >= 0 && value < INT16_MAX)
        depth[at] = (int16_t)value;
}

// The depth of the value stack before the instruction that `index` belongs to; UNKNOWN if the code
// cannot be followed there.
static int depth_at(const PyCodeObject *code, Py_ssize_t index, int16_t *depth, instr_t *site)
{
    Py_ssize_t n = Py_SIZE(code);
    const uint8_t *bytes = (const uint8_t *)code->co_code_adaptive;
    memset(depth, 0xff, (size_t)n * sizeof *depth);
    depth[0] = 0;
    mark_handlers(code, depth, n);
    // Blocks that are only reached by a jump back are known in a later pass; three suffice for what
    // the compiler lays out.
    for (int pass = 0; pass < 3; pass++) {
        instr_t i;
        for (Py_ssize_t at = 0; at < n; at = i.next) {
            if (!read_instr(bytes, n, at, &i))
                return UNKNOWN;
            if (depth[at] == UNKNOWN)
                continue;
            if (i.at == index) {
                *site = i;
                return depth[at];
            }
            Py_ssize_t target = jump_target(&i);
            if (target >= 0) {
                int effect = PyCompile_OpcodeStackEffectWithJump(i.opcode, i.oparg, 1);
                if (effect == PY_INVALID_STACK_EFFECT)
                    return UNKNOWN;
                note(depth, n, target, depth[at] + effect);
            }
            if (falls_through(i.opcode)) {
                int effect = PyCompile_OpcodeStackEffectWithJump(i.opcode, i.oparg, 0);
                if (effect == PY_INVALID_STACK_EFFECT)
                    return UNKNOWN;
                note(depth, n, i.next, depth[at] + effect);
            }
        }
    }
    return UNKNOWN;
}

static bool is_call(int opcode)
{
    switch (opcode) {
    case CALL:
    case CALL_FUNCTION_EX:
#ifdef CALL_KW
    case CALL_KW:
#endif
#ifdef PRECALL
    case PRECALL:
#endif
        return true;
    default:
        return false;
    }
}

// How far below the top of the stack the callable (or the NULL before it) lies.
static int below_top(const instr_t *call)
{
    int flag = call->oparg & 1;
    (void)flag;
    switch (call->opcode) {
#ifdef PRECALL
    case PRECALL:
        return call->oparg + 2;
    case CALL: // 3.11: the effect of PRECALL counts the arguments as popped, but they are there
        return 2;
#else
    case CALL:
        return call->oparg + 2;
#endif
#ifdef CALL_KW
    case CALL_KW:
        return call->oparg + 3;
#endif
    case CALL_FUNCTION_EX:
#if PY_VERSION_HEX >= 0x030E0000
        return 4;
#elif PY_VERSION_HEX >= 0x030D0000
        return 3 + flag;
#else
        return 2 + flag;
#endif
    default:
        return 0;
    }
}

static int find_site(sonde_thread *thread, const PyCodeObject *code, Py_ssize_t index)
{
    instr_t call;
    if (Py_SIZE(code) > SONDE_SCRATCH)
        return SITE_NONE;
    int depth = depth_at(code, index, thread->scratch, &call);
    if (depth == UNKNOWN || !is_call(call.opcode))
        return SITE_NONE;
    int at = depth - below_top(&call);
    return at >= 0 && at < code->co_stacksize ? code->co_nlocalsplus + at : SITE_NONE;
}

// One word per entry, so that handlers of all threads share it without a lock: the upper 48 bits
// are the rest of a hash that loses nothing, the lower 16 the answer + 1.

SONDE_HOT int sonde_call_site(sonde_thread *thread, uint64_t id, const PyCodeObject *code,
                              Py_ssize_t index)
{
    if (index < 0 || index >= Py_SIZE(code))
        return SITE_NONE;
    int opcode = plain(((const uint8_t *)code->co_code_adaptive)[2 * index]);
    if (opcode >= MIN_INSTRUMENTED_OPCODE || !is_call(_PyOpcode_Deopt[opcode]))
        return SITE_NONE;
    // Odd factor: a bijection of 64-bit words.
    uint64_t hash = sonde_hash(id << SONDE_INSTR_BITS | (uint64_t)index);
    _Atomic uint64_t *entry = &sonde.sites[hash >> (64 - SONDE_SITES_BITS)];
    uint64_t rest = hash << SONDE_SITES_BITS;
    uint64_t word = atomic_load_explicit(entry, memory_order_relaxed);
    if (word >> 16 == rest >> 16 && (word & 0xffff))
        return (int)(word & 0xffff) - 2;
    int site = find_site(thread, code, index);
    if (site + 2 > 0xffff)
        site = SITE_NONE;
    atomic_store_explicit(entry, rest | (uint64_t)(site + 2), memory_order_relaxed);
    return site;
}

static bool is_for_one_function(int opcode)
{
    switch (opcode) {
    case CALL_PY_EXACT_ARGS:
#ifdef CALL_PY_WITH_DEFAULTS
    case CALL_PY_WITH_DEFAULTS:
#endif
#ifdef CALL_PY_GENERAL
    case CALL_PY_GENERAL:
#endif
#ifdef CALL_BOUND_METHOD_EXACT_ARGS
    case CALL_BOUND_METHOD_EXACT_ARGS:
#endif
#ifdef CALL_BOUND_METHOD_GENERAL
    case CALL_BOUND_METHOD_GENERAL:
#endif
#ifdef CALL_KW_PY
    case CALL_KW_PY:
    case CALL_KW_BOUND_METHOD:
#endif
        return true;
    default:
        return false;
    }
}

// Others that begin a Python function, if frames are evaluated by the interpreter itself.
static bool is_for_a_class(int opcode)
{
    switch (opcode) {
#ifdef BINARY_SUBSCR_GETITEM
    case BINARY_SUBSCR_GETITEM:
#endif
#ifdef BINARY_OP_SUBSCR_GETITEM
    case BINARY_OP_SUBSCR_GETITEM:
#endif
#ifdef LOAD_ATTR_PROPERTY
    case LOAD_ATTR_PROPERTY:
    case LOAD_ATTR_GETATTRIBUTE_OVERRIDDEN:
#endif
#ifdef CALL_ALLOC_AND_ENTER_INIT
    case CALL_ALLOC_AND_ENTER_INIT:
#endif
        return true;
    default:
        return false;
    }
}

// What the interpreter sets an instruction's counter to when it specialises it.
#if PY_VERSION_HEX >= 0x030C0000
#define misses_allowed adaptive_counter_cooldown
#else
static _Py_CODEUNIT misses_allowed(void) { return 53; }
#endif

static bool is_for(const _PyCallCache *cache, const PyFunctionObject *function)
{
    uint32_t version;
    memcpy(&version, cache->func_version, sizeof version);
    return version && function && PyFunction_Check(function) && version == function->func_version;
}

SONDE_HOT bool sonde_calls_directly(const frame_t *caller, const frame_t *called)
{
    PyCodeObject *code;
    Py_ssize_t index;
    if (!caller || frame_is_shim(caller) || !frame_decode(caller, &code, &index) || index < 0 ||
        index + (Py_ssize_t)INLINE_CACHE_ENTRIES_CALL >= Py_SIZE(code))
        return false;
    uint8_t *at = (uint8_t *)((_Py_CODEUNIT *)code->co_code_adaptive + index);
    _PyCallCache *cache = (_PyCallCache *)(at + sizeof(_Py_CODEUNIT));
    bool direct = is_for_one_function(at[0]) && is_for(cache, frame_function(called));
    // While frames are evaluated by us the instruction does its work as if it were not specialised,
    // but stays as it is. That counts as a miss, and after some dozens of them the interpreter
    // would specialise it again: in vain during our window, and for long after that it would stay
    // slow.
    if (direct || is_for_a_class(at[0]))
        cache->counter = misses_allowed();
    return direct;
}

// A frame that called Python code is, up to 3.12, at the last cache entry of its call.
static Py_ssize_t instruction_at(const PyCodeObject *code, Py_ssize_t index)
{
    const uint8_t *bytes = (const uint8_t *)code->co_code_adaptive;
    Py_ssize_t n = Py_SIZE(code);
    instr_t i;
    for (Py_ssize_t at = 0; at < n && read_instr(bytes, n, at, &i); at = i.next)
        if (index >= at && index < i.next)
            return i.at;
    return -1;
}

int sonde_stack_depth(sonde_thread *thread, const PyCodeObject *code, Py_ssize_t index)
{
    if (index < 0 || Py_SIZE(code) > SONDE_SCRATCH)
        return 0;
    instr_t i;
    Py_ssize_t at = instruction_at(code, index);
    int depth = at < 0 ? UNKNOWN : depth_at(code, at, thread->scratch, &i);
    return depth == UNKNOWN || depth > code->co_stacksize ? 0 : depth;
}

int sonde_operands(const PyCodeObject *code, Py_ssize_t index)
{
    instr_t i;
    Py_ssize_t at = index < 0 ? -1 : instruction_at(code, index);
    if (at < 0 || !read_instr((const uint8_t *)code->co_code_adaptive, Py_SIZE(code), at, &i))
        return 0;
    if (is_call(i.opcode))
        return below_top(&i);
#ifdef BEFORE_WITH
    if (i.opcode == BEFORE_WITH)
        return 1;
#endif
    return 0;
}
