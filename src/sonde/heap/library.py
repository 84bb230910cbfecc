"""native/heap, and how arrays are handed to it."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

from sonde.record.system import native_libraries

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph(ctypes.Structure):
    _fields_ = (
        ("objects", ctypes.c_uint64),
        ("first", ctypes.c_void_p),
        ("to", ctypes.c_void_p),
        ("roots", ctypes.c_void_p),
        ("root_count", ctypes.c_uint64),
    )


class Counts(ctypes.Structure):
    _fields_ = (
        ("objects", ctypes.c_uint64),
        ("roots", ctypes.c_uint64),
        ("elements", ctypes.c_uint64),
        ("error_at", ctypes.c_uint64),
        ("error", ctypes.c_char_p),
    )


class Objects(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("id", "type", "where", "length", "kind"))


class Roots(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("id", "kind", "thread", "frame"))


class Ids(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("index", ctypes.c_void_p),
        ("buckets", ctypes.c_uint64),
        ("base", ctypes.c_uint64),
        ("shift", ctypes.c_uint32),
    )


class Fields(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("first", "offset", "label"))


class CpythonFile(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_void_p), ("size", ctypes.c_uint64))


class CpythonMap(ctypes.Structure):
    _fields_ = (
        ("bits", ctypes.c_void_p),
        ("before", ctypes.c_void_p),
        ("words", ctypes.c_uint64),
    )


class CpythonObjects(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("type", "size", "count", "edges", "order")
    )


class CpythonEdges(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("first", "to", "label", "in", "labels")),
        ("max_labels", ctypes.c_uint32),
    )


class StringLayout(ctypes.Structure):
    _fields_ = (("value", ctypes.c_uint32), ("coder", ctypes.c_uint32))


def address(array: NDArray[Any]) -> int:
    """Where an array's values are: it must outlive the call that gets this."""
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


_PLACE, _NUMBER, _SMALL = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
_ARGUMENTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "graph_is_valid": (ctypes.c_bool, (ctypes.POINTER(Graph), _NUMBER)),
    "graph_shortest": (_NUMBER, (ctypes.POINTER(Graph), _PLACE, _PLACE, _PLACE)),
    "graph_referrers": (None, (ctypes.POINTER(Graph), _PLACE, _PLACE)),
    "graph_dominators": (
        ctypes.c_bool,
        (ctypes.POINTER(Graph), _PLACE, _PLACE, ctypes.POINTER(_NUMBER)),
    ),
    "sizes_retained": (None, (_NUMBER, _NUMBER, _PLACE, _PLACE, _PLACE, _PLACE)),
    "sizes_by_type": (
        ctypes.c_bool,
        (_NUMBER, _NUMBER, _PLACE, _PLACE, _PLACE, _PLACE, _SMALL, _PLACE),
    ),
    "sizes_holders": (None, (_NUMBER, *[_PLACE] * 8)),
    "sizes_paths": (None, (_NUMBER, *[_PLACE] * 8)),
    "sizes_of_set": (
        ctypes.c_bool,
        (_NUMBER, _NUMBER, _PLACE, _PLACE, _PLACE, _PLACE, ctypes.POINTER(_NUMBER)),
    ),
    "hprof_count": (None, (_PLACE, _PLACE, _NUMBER, _SMALL, ctypes.POINTER(Counts))),
    "hprof_read": (
        None,
        (_PLACE, _PLACE, _NUMBER, _SMALL, ctypes.POINTER(Objects), ctypes.POINTER(Roots)),
    ),
    "hprof_find": (_SMALL, (ctypes.POINTER(Ids), _NUMBER)),
    "hprof_references": (
        _NUMBER,
        (
            _PLACE, _SMALL, ctypes.POINTER(Ids), _PLACE, _PLACE, _PLACE, _PLACE,
            ctypes.POINTER(Fields), _SMALL, _PLACE, _PLACE, _PLACE,
        ),
    ),
    "hprof_texts": (
        _NUMBER,
        (
            _PLACE, _SMALL, ctypes.POINTER(Ids), ctypes.POINTER(Objects), _PLACE, _NUMBER,
            ctypes.POINTER(StringLayout), _SMALL, _PLACE, _PLACE,
        ),
    ),
    "hprof_positions": (
        None, (_PLACE, _SMALL, ctypes.POINTER(Ids), _PLACE, _PLACE, _PLACE, _PLACE),
    ),
    "cpython_count": (ctypes.c_bool, (ctypes.POINTER(CpythonFile), _PLACE)),
    "cpython_copy": (None, (ctypes.POINTER(CpythonFile), _SMALL, _PLACE)),
    "cpython_numbers": (None, (ctypes.POINTER(CpythonMap), _PLACE, _NUMBER, _PLACE)),
    "cpython_read_objects": (
        ctypes.c_bool,
        (
            ctypes.POINTER(CpythonFile), ctypes.POINTER(CpythonMap), _NUMBER,
            ctypes.POINTER(CpythonObjects),
        ),
    ),
    "cpython_read_edges": (
        _SMALL,
        (
            ctypes.POINTER(CpythonFile), ctypes.POINTER(CpythonMap), _PLACE, _PLACE, _NUMBER,
            ctypes.POINTER(CpythonEdges),
        ),
    ),
    "cpython_texts": (_NUMBER, (_PLACE, _PLACE, _NUMBER, _PLACE, _SMALL, _PLACE, _PLACE)),
    "hprof_digest": (None, (_PLACE, _PLACE, _PLACE, _NUMBER, _PLACE)),
}  # fmt: skip


@functools.cache
def library() -> ctypes.CDLL:
    """Its functions without `sonde_` in front: calls release the GIL."""
    loaded = ctypes.CDLL(str(native_libraries.heap()))
    for name, (result, arguments) in _ARGUMENTS.items():
        function = getattr(loaded, f"sonde_{name}")
        function.restype, function.argtypes = result, list(arguments)
        setattr(loaded, name, function)
    return loaded
