"""Where the fields of an interpreter's objects lie: native/cpython/remote/object_layout.c."""

from __future__ import annotations

import ctypes

from ..system import native_libraries

_NAMES = (
    "interpreters_head", "interpreter_next", "interpreter_threads", "interpreter_modules",
    "interpreter_tasks", "thread_next", "thread_tid", "thread_dict", "thread_cframe",
    "current_frame", "thread_loop", "thread_tasks", "frame_code", "frame_previous",
    "frame_instr", "frame_owner", "frame_values", "frame_top", "top_is_pointer",
    "generator_owner", "shim_owner", "coroutine_frame", "coroutine_state", "suspended_first",
    "suspended_last", "executing", "created", "code_name", "code_file", "code_table",
    "code_line", "code_start", "code_locals", "code_stack", "type_name", "type_base",
    "type_size", "type_keys", "text_length", "text_state", "text_ascii", "text_kind",
    "ascii_size", "compact_size", "dict_keys", "dict_values", "keys_index_bytes", "keys_kind",
    "keys_count", "keys_indices", "values_first", "values_before", "values_inline",
    "module_dict", "weakref_object", "set_mask", "set_table", "method_function", "method_self",
    "builtin_self", "function_code", "function_closure", "cell_value", "list_items",
    "tuple_items",
)  # fmt: skip


class Layout:
    """Offsets in bytes, and what some fields contain, by name; 0: the version has no such field."""

    def __init__(self, values: list[int]) -> None:
        self._values = dict(zip(_NAMES, values, strict=True))

    def __getattr__(self, name: str) -> int:
        return self._values[name]


def layout_of(version: str) -> Layout | None:
    """Of a minor version such as "3.12"; None: sonde was built without it."""
    path = native_libraries.FOLDER / f"libsonde-remote-{version}.so"
    if not path.exists():
        return None
    values = (ctypes.c_uint64 * len(_NAMES))()
    ctypes.CDLL(str(path)).sonde_remote_object_layout(values)
    return Layout(list(values))
