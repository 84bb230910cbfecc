// Where in the table that an interpreter publishes of itself (_Py_DebugOffsets) those entries lie
// by which it can be asked to run a script (PEP 768, 3.14). The table differs by minor version.
#include "cpython/frames/frames.h"

#include <stddef.h>
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_ceval.h"
#endif

#define EXPORT __attribute__((visibility("default")))

typedef struct {
    uint64_t size; // of the table; 0 where the version has no such entries
    uint64_t interpreters_head, threads_main;
    uint64_t debugger_support; // six words, in the order of PEP 768
    uint64_t stop_bit;         // in a thread's eval_breaker
} sonde_debug_table;

EXPORT void sonde_debug_offsets(sonde_debug_table *out)
{
#if PY_VERSION_HEX >= 0x030E0000
    *out = (sonde_debug_table){
        .size = sizeof(_Py_DebugOffsets),
        .interpreters_head = offsetof(_Py_DebugOffsets, runtime_state.interpreters_head),
        .threads_main = offsetof(_Py_DebugOffsets, interpreter_state.threads_main),
        .debugger_support = offsetof(_Py_DebugOffsets, debugger_support),
        .stop_bit = _PY_EVAL_PLEASE_STOP_BIT,
    };
#else
    *out = (sonde_debug_table){0};
#endif
}
