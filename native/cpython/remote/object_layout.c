// Where in the objects of this CPython version those fields lie that sonde reads from outside of a
// process to list its tasks. The fields of asyncio's own C objects are in no header; the reader
// recognizes them by what they refer to (src/sonde/record/remote_tasks).
#include "cpython/frames/frames.h"

#include <stddef.h>
#include <string.h>

#include "internal/pycore_dict.h"
#include "internal/pycore_moduleobject.h"
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_tstate.h"
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_genobject.h"
#endif

#define EXPORT __attribute__((visibility("default")))

// The same fields in the same order as in layout.py. 0 stands for what the version does not have.
typedef struct {
    uint64_t interpreters_head, interpreter_next, interpreter_threads, interpreter_modules;
    uint64_t interpreter_tasks;
    uint64_t thread_next, thread_tid, thread_dict, thread_cframe, current_frame;
    uint64_t thread_loop, thread_tasks;
    uint64_t frame_code, frame_previous, frame_instr, frame_owner, frame_values, frame_top;
    uint64_t top_is_pointer, generator_owner, shim_owner;
    uint64_t coroutine_frame, coroutine_state, suspended_first, suspended_last, executing, created;
    uint64_t code_name, code_file, code_table, code_line, code_start, code_locals, code_stack;
    uint64_t type_name, type_base, type_size, type_keys;
    uint64_t text_length, text_state, text_ascii, text_kind, ascii_size, compact_size;
    uint64_t dict_keys, dict_values, keys_index_bytes, keys_kind, keys_count, keys_indices;
    uint64_t values_first, values_before, values_inline;
    uint64_t module_dict, weakref_object, set_mask, set_table;
    uint64_t method_function, method_self, builtin_self, function_code, function_closure,
        cell_value;
    uint64_t list_items, tuple_items;
} sonde_object_layout;

static uint64_t text_bits(unsigned ascii, unsigned kind)
{
    PyASCIIObject text;
    uint32_t state;
    memset(&text, 0, sizeof text);
    text.state.ascii = ascii & 1;
    text.state.kind = kind & 7;
    memcpy(&state, (char *)&text + offsetof(PyASCIIObject, state), sizeof state);
    return state;
}

EXPORT void sonde_remote_object_layout(sonde_object_layout *out)
{
    *out = (sonde_object_layout){
        .interpreters_head = offsetof(_PyRuntimeState, interpreters.head),
        .interpreter_next = offsetof(PyInterpreterState, next),
        .interpreter_threads = offsetof(PyInterpreterState, threads.head),
#if PY_VERSION_HEX >= 0x030C0000
        .interpreter_modules = offsetof(PyInterpreterState, imports.modules),
#else
        .interpreter_modules = offsetof(PyInterpreterState, modules),
#endif
        .thread_next = offsetof(PyThreadState, next),
        .thread_tid = offsetof(PyThreadState, native_thread_id),
        .thread_dict = offsetof(PyThreadState, dict),
#if PY_VERSION_HEX >= 0x030D0000
        .thread_loop = offsetof(_PyThreadStateImpl, asyncio_running_loop),
#endif
#if PY_VERSION_HEX >= 0x030E0000
        .interpreter_tasks = offsetof(PyInterpreterState, asyncio_tasks_head),
        .thread_tasks = offsetof(_PyThreadStateImpl, asyncio_tasks_head),
#endif
#if PY_VERSION_HEX >= 0x030D0000
        .current_frame = offsetof(PyThreadState, current_frame),
#else
        .thread_cframe = offsetof(PyThreadState, cframe),
        .current_frame = offsetof(_PyCFrame, current_frame),
#endif
        .frame_previous = offsetof(frame_t, previous),
        .frame_owner = offsetof(frame_t, owner),
        .frame_values = offsetof(frame_t, localsplus),
#if PY_VERSION_HEX >= 0x030D0000
        .frame_code = offsetof(frame_t, f_executable),
        .frame_instr = offsetof(frame_t, instr_ptr),
#else
        .frame_code = offsetof(frame_t, f_code),
        .frame_instr = offsetof(frame_t, prev_instr),
#endif
#if PY_VERSION_HEX >= 0x030E0000
        .frame_top = offsetof(frame_t, stackpointer),
        .top_is_pointer = 1,
#else
        .frame_top = offsetof(frame_t, stacktop),
#endif
        .generator_owner = FRAME_OWNED_BY_GENERATOR,
#if PY_VERSION_HEX >= 0x030E0000
        .shim_owner = FRAME_OWNED_BY_INTERPRETER,
#elif PY_VERSION_HEX >= 0x030C0000
        .shim_owner = FRAME_OWNED_BY_CSTACK,
#else
        .shim_owner = 255,
#endif
        .coroutine_frame = offsetof(PyGenObject, gi_iframe),
        .coroutine_state = offsetof(PyGenObject, gi_frame_state),
        .suspended_first = (uint8_t)FRAME_SUSPENDED,
#if PY_VERSION_HEX >= 0x030F0000
        .suspended_last = (uint8_t)FRAME_SUSPENDED_YIELD_FROM_LOCKED,
#elif PY_VERSION_HEX >= 0x030D0000
        .suspended_last = (uint8_t)FRAME_SUSPENDED_YIELD_FROM,
#else
        .suspended_last = (uint8_t)FRAME_SUSPENDED,
#endif
        .executing = (uint8_t)FRAME_EXECUTING,
        .created = (uint8_t)FRAME_CREATED,
        .code_name = offsetof(PyCodeObject, co_qualname),
        .code_file = offsetof(PyCodeObject, co_filename),
        .code_table = offsetof(PyCodeObject, co_linetable),
        .code_line = offsetof(PyCodeObject, co_firstlineno),
        .code_start = offsetof(PyCodeObject, co_code_adaptive),
        .code_locals = offsetof(PyCodeObject, co_nlocalsplus),
        .code_stack = offsetof(PyCodeObject, co_stacksize),
        .type_name = offsetof(PyTypeObject, tp_name),
        .type_base = offsetof(PyTypeObject, tp_base),
        .type_size = offsetof(PyTypeObject, tp_basicsize),
        .type_keys = offsetof(PyHeapTypeObject, ht_cached_keys),
        .text_length = offsetof(PyASCIIObject, length),
        .text_state = offsetof(PyASCIIObject, state),
        .text_ascii = text_bits(1, 0),
        .text_kind = text_bits(0, 7),
        .ascii_size = sizeof(PyASCIIObject),
        .compact_size = sizeof(PyCompactUnicodeObject),
        .dict_keys = offsetof(PyDictObject, ma_keys),
        .dict_values = offsetof(PyDictObject, ma_values),
        .keys_index_bytes = offsetof(PyDictKeysObject, dk_log2_index_bytes),
        .keys_kind = offsetof(PyDictKeysObject, dk_kind),
        .keys_count = offsetof(PyDictKeysObject, dk_nentries),
        .keys_indices = offsetof(PyDictKeysObject, dk_indices),
        .values_first = offsetof(PyDictValues, values),
#if PY_VERSION_HEX >= 0x030D0000
        .values_inline = 1,
#elif PY_VERSION_HEX < 0x030C0000
        .values_before = 4 * sizeof(PyObject *),
#endif
        .module_dict = offsetof(PyModuleObject, md_dict),
        .weakref_object = offsetof(PyWeakReference, wr_object),
        .set_mask = offsetof(PySetObject, mask),
        .set_table = offsetof(PySetObject, table),
        .method_function = offsetof(PyMethodObject, im_func),
        .method_self = offsetof(PyMethodObject, im_self),
        .builtin_self = offsetof(PyCFunctionObject, m_self),
        .function_code = offsetof(PyFunctionObject, func_code),
        .function_closure = offsetof(PyFunctionObject, func_closure),
        .cell_value = offsetof(PyCellObject, ob_ref),
        .list_items = offsetof(PyListObject, ob_item),
        .tuple_items = offsetof(PyTupleObject, ob_item),
    };
}
