"""What the agent writes of CPython's heap as a snapshot."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING

import numpy as np

from sonde.heap import library as native
from sonde.heap.columns import ColumnContents, References
from sonde.heap.cpython import file as raw
from sonde.heap.cpython.file import NONE, CpythonHeapFile, EdgeColumns, ObjectColumns
from sonde.heap.cpython.object_texts import CpythonNames, CpythonValues
from sonde.heap.graph import UNREACHABLE
from sonde.heap.library import address, library
from sonde.heap.snapshot import (
    KEY_ITSELF,
    HeapType,
    Label,
    LabelKind,
    Origin,
    Rooms,
    Root,
    Snapshot,
)
from sonde.model.code_origin import in_packages

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FRAME = "frame"
_CONTAINERS = frozenset(
    {
        "list", "dict", "tuple", "set", "frozenset", "cell", "mappingproxy", "array.array",
        "dict_keys", "dict_values", "dict_items", "types.SimpleNamespace", "numpy.ndarray",
    }
)  # fmt: skip
_COLLECTION = re.compile(
    r"collections\.(?:deque|\w*[dD]ict|Counter|ChainMap|User\w+)$|weakref\.Weak"
)
_KINDS: dict[int, LabelKind] = {
    raw.PLAIN: "attribute",
    raw.INDEX: "index",
    raw.IS_KEY: "key",
    raw.KEY: "key",
    raw.ATTRIBUTE: "attribute",
    raw.FIXED: "attribute",
    raw.LOCAL: "local",
    raw.CLOSURE: "closure",
}
ELSEWHERE = "reference from C"
"""An object has more references than Python objects have to it."""


def read(file: IO[bytes], name: str, origin: Origin) -> Snapshot:
    heap = CpythonHeapFile(file, name)
    objects = heap.objects()
    edges = heap.edges(objects)
    values = CpythonValues(heap)
    strings = values.strings()
    names = CpythonNames(heap, objects, edges, strings)
    labels, label = _labels(edges, names)
    roots, modules = _roots(heap, names, values, origin.pid)
    types, type_ = _types(heap, objects, _packages(names, modules))
    roots += _held_elsewhere(objects, edges, roots)
    texts = names.all(modules)
    containers = heap.records(raw.CONTAINERS)
    rooms = _rooms(containers, heap)
    digests = values.digests(objects.edges == 0)
    references = References(objects.first, edges.to, label, labels)
    return Snapshot(
        path=name,
        runtime="cpython",
        types=types,
        labels=labels,
        type=type_,
        size=objects.size,
        id=objects.id,
        first=objects.first,
        to=edges.to,
        label=label,
        roots=roots,
        contents=ColumnContents(
            lambda: references, lambda: texts, lambda: None, lambda: digests, lambda: rooms
        ),
        warnings=_warnings(heap),
        origin=origin,
    )


def _labels(edges: EdgeColumns, names: CpythonNames) -> tuple[list[Label], NDArray[np.uint32]]:
    """Several strings may be one name."""
    numbers: dict[Label, int] = {}
    renumbered = np.zeros(max(len(edges.labels), 1), np.uint32)
    for number, ((kind, _), name) in enumerate(zip(edges.labels, names.labels, strict=True)):
        if kind == raw.FIXED and name == "__class__":
            label = Label("type", name)
        elif kind == raw.IS_KEY:
            label = Label("key", KEY_ITSELF)
        else:
            label = Label(_KINDS.get(kind, "attribute"), name)
        renumbered[number] = numbers.setdefault(label, len(numbers))
    return list(numbers), renumbered[edges.label]


def _types(
    heap: CpythonHeapFile, objects: ObjectColumns, packages: set[str]
) -> tuple[list[HeapType], NDArray[np.uint32]]:
    """Classes of the same name, as after a module was loaded again, are one type."""
    classes = dict(heap.classes())
    used = np.zeros(len(objects.id) + 1, bool)
    used[np.minimum(objects.type, len(objects.id))] = True
    numbers: dict[str, int] = {}
    renumbered = np.zeros(len(used), np.uint32)
    for number in np.flatnonzero(used).tolist():
        name = _FRAME if number == len(objects.id) else classes.get(number, "?")
        renumbered[number] = numbers.setdefault(name, len(numbers))
    types = [HeapType(name, _is_container(name), _is_own(name, packages)) for name in numbers]
    return types, renumbered[np.minimum(objects.type, len(objects.id))]


def _is_container(name: str) -> bool:
    return name in _CONTAINERS or bool(_COLLECTION.match(name))


def _is_own(name: str, packages: set[str]) -> bool:
    """By its module; the interpreter's own types have names without one."""
    module = name.partition(".")[0]
    return "." in name and module not in sys.stdlib_module_names and module not in packages


def _packages(names: CpythonNames, modules: dict[int, str]) -> set[str]:
    """The modules that are installed packages, by the first part of their names."""
    files = names.targets("__file__")
    return {
        name.partition(".")[0]
        for number, name in modules.items()
        if in_packages(names.text(files.get(number, NONE)) or "")
    }


def _rooms(containers: NDArray[np.void], heap: CpythonHeapFile) -> Rooms:
    numbers = heap.numbers(np.ascontiguousarray(containers["object"]))
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] != NONE]
    return Rooms(
        numbers[order],
        np.ascontiguousarray(containers["room"][order]),
        np.ascontiguousarray(containers["used"][order]),
    )


def _roots(
    heap: CpythonHeapFile, names: CpythonNames, values: CpythonValues, pid: int | None
) -> tuple[list[Root], dict[int, str]]:
    records = heap.records(raw.ROOTS)
    numbers = heap.numbers(np.ascontiguousarray(records["object"])).tolist()
    words = heap.numbers(np.ascontiguousarray(records["name"])).tolist()
    fixed, threads = heap.names(), names.threads(values)
    if pid is not None:
        threads.setdefault(pid, "MainThread")  # of a program that does not import threading
    roots, modules = [], {}
    for record, number, word in zip(records, numbers, words, strict=True):
        kind, name = int(record["kind"]), int(record["name"])
        if number == NONE:
            continue
        if kind == raw.MODULE_ROOT:
            modules[number] = names.text(word) or "?"
            roots.append(Root(number, "module", modules[number]))
        elif kind == raw.FRAME_ROOT:
            roots.append(Root(number, "thread", threads.get(name, str(name))))
        elif name < len(fixed):
            roots.append(Root(number, "interpreter", fixed[name]))
    return roots, modules


def _held_elsewhere(objects: ObjectColumns, edges: EdgeColumns, roots: list[Root]) -> list[Root]:
    """What no root leads to, although somebody has a reference: C code, mostly."""
    count = len(objects.id)
    starts = np.unique(np.fromiter((root.object for root in roots), np.uint32, len(roots)))
    graph = native.Graph(
        count, address(objects.first), address(edges.to), address(starts), len(starts)
    )
    parent, order = np.empty(count, np.uint32), np.empty(count, np.uint32)
    via = np.empty(count, np.uint64)
    library().graph_shortest(graph, address(parent), address(via), address(order))
    unreached = parent == UNREACHABLE
    immortal = objects.counted == NONE
    held = unreached & ~immortal & (objects.counted > edges.into)
    return [
        *(Root(number, ELSEWHERE, "") for number in np.flatnonzero(held).tolist()),
        *(
            Root(number, "interpreter", "immortal object")
            for number in np.flatnonzero(unreached & immortal).tolist()
        ),
    ]


def _warnings(heap: CpythonHeapFile) -> list[str]:
    totals = heap.records(raw.TOTALS)[0]
    found = []
    if left_out := int(totals["left_out"]):
        found.append(
            f"the heap has too many regions: {left_out:,} references lead to objects left out"
        )
    if interpreters := int(totals["interpreters"]):
        found.append(f"{interpreters} sub-interpreters with a GIL of their own are left out")
    return found
