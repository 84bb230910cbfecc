"""What the agent writes of CPython's heap: native/core/base/heap_file.h, as columns."""

from __future__ import annotations

import mmap
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.errors import SondeError
from sonde.heap import library as native
from sonde.heap.library import address, library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

NONE = 2**32 - 1
_MAGIC = 0x3150414548454E53
# Kinds of blocks.
_HEAD, OBJECTS, EDGES, VALUES, TEXTS, TYPES, NAMES, CONTAINERS, LARGE = range(1, 10)
ROOTS, FRAMES, _REGIONS, _BITS, TOTALS, _KINDS = range(10, 16)
# What an edge is called.
PLAIN, INDEX, IS_KEY, KEY, ATTRIBUTE, FIXED, LOCAL, CLOSURE = range(8)
MODULE_ROOT, FRAME_ROOT, INTERPRETER_ROOT = 1, 2, 3
VALUE_BYTES, VALUE_INT, VALUE_FLOAT = 8, 9, 10

_REGION_SHIFT, _REGION_WORDS = 19, 1024
MAX_LABELS = 1 << 18

_RECORDS = {
    _HEAD: np.dtype([("magic", "u8"), ("python", "u4"), ("reserved", "u4")]),
    VALUES: np.dtype(
        [("object", "u4"), ("length", "u4"), ("digest", "u4", 2), ("bytes", "u2"), ("form", "u2")]
    ),
    CONTAINERS: np.dtype([("object", "u4"), ("room", "u4"), ("used", "u4")]),
    LARGE: np.dtype([("object", "u4"), ("reserved", "u4"), ("size", "u8")]),
    ROOTS: np.dtype([("object", "u4"), ("kind", "u4"), ("name", "u4")]),
    FRAMES: np.dtype([("frame", "u4"), ("code", "u4"), ("thread", "u4")]),
    _REGIONS: np.dtype("u8"),
    _BITS: np.dtype("u8"),
    TOTALS: np.dtype(
        [("objects", "u8"), ("edges", "u8"), ("left_out", "u8"), ("interpreters", "u8")]
    ),
}


class ObjectColumns(NamedTuple):
    """By number, which ascends with the address."""

    id: NDArray[np.uint64]
    type: NDArray[np.uint32]
    """The number of the class; NONE: a running frame."""
    size: NDArray[np.uint64]
    counted: NDArray[np.uint32]
    """References to it; NONE: it is immortal."""
    first: NDArray[np.uint64]
    order: NDArray[np.uint32]
    edges: NDArray[np.uint32]


class EdgeColumns(NamedTuple):
    to: NDArray[np.uint32]
    label: NDArray[np.uint32]
    labels: list[tuple[int, int]]
    """By number, the kind, and the number of a string or of a fixed name; NONE: no name."""
    into: NDArray[np.uint32]
    """How many of the references that each object counts are in the file."""


class CpythonHeapFile:
    def __init__(self, file: IO[bytes], name: str) -> None:
        self._name = name
        try:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise self._damaged() from None
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._file = native.CpythonFile(address(self._bytes), len(self._bytes))
        counts = np.zeros(_KINDS, np.uint64)
        if not library().cpython_count(self._file, address(counts)):
            raise self._damaged()
        self.counts = [int(count) for count in counts]
        head = self.records(_HEAD)[0]
        if int(head["magic"]) != _MAGIC:
            raise self._damaged()
        self.python = int(head["python"])
        if int(self.records(VALUES)["bytes"].sum(dtype=np.uint64)) != self.counts[TEXTS]:
            raise self._damaged()
        self._read_map()

    def _damaged(self) -> SondeError:
        return SondeError(f"the heap snapshot of {self._name} is incomplete")

    def records(self, kind: int) -> NDArray[Any]:
        found = np.empty(self.counts[kind], _RECORDS[kind])
        library().cpython_copy(self._file, kind, address(found))
        return found

    def bytes_of(self, kind: int) -> NDArray[np.uint8]:
        found = np.empty(self.counts[kind], np.uint8)
        library().cpython_copy(self._file, kind, address(found))
        return found

    def _read_map(self) -> None:
        """Regions come as they were met; numbers follow addresses."""
        regions, self._bits = self.records(_REGIONS), self.records(_BITS)
        order = np.argsort(regions, kind="stable")
        in_word = np.bitwise_count(self._bits).reshape(-1, _REGION_WORDS)
        in_region = in_word.sum(axis=1, dtype=np.uint64)
        base = np.zeros(len(regions), np.uint64)
        base[order] = np.cumsum(in_region[order]) - in_region[order]
        before = np.cumsum(in_word, axis=1, dtype=np.uint32) - in_word
        before += base[:, None].astype(np.uint32)
        self._before = np.ascontiguousarray(before.reshape(-1))
        self._regions, self._region_order = regions, order
        self._numbers = native.CpythonMap(
            address(self._bits), address(self._before), len(self._bits)
        )

    def numbers(self, references: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Of objects; NONE for what is no object."""
        references = np.ascontiguousarray(references)
        found = np.empty(len(references), np.uint32)
        library().cpython_numbers(
            self._numbers, address(references), len(references), address(found)
        )
        return found

    def _ids(self, count: int) -> NDArray[np.uint64]:
        ids = np.empty(count, np.uint64)
        done = 0
        bits = self._bits.view(np.uint8).reshape(-1, _REGION_WORDS * 8)
        for region in self._region_order.tolist():
            places = np.flatnonzero(np.unpackbits(bits[region], bitorder="little"))
            base = np.uint64(int(self._regions[region]) << _REGION_SHIFT)
            ids[done : done + len(places)] = base + (places.astype(np.uint64) << np.uint64(3))
            done += len(places)
        return ids

    def objects(self) -> ObjectColumns:
        count = self.counts[OBJECTS]
        if int(np.bitwise_count(self._bits).sum(dtype=np.uint64)) != count or count >= NONE - 1:
            raise self._damaged()
        type_, counted = np.empty(count, np.uint32), np.empty(count, np.uint32)
        edges, order = np.empty(count, np.uint32), np.empty(count, np.uint32)
        size = np.empty(count, np.uint64)
        to = native.CpythonObjects(*(address(c) for c in (type_, size, counted, edges, order)))
        if not library().cpython_read_objects(self._file, self._numbers, count, to):
            raise self._damaged()
        for large in self.records(LARGE):
            number = int(self.numbers(np.array([large["object"]], np.uint32))[0])
            if number < count:
                size[number] = large["size"]
        first = np.zeros(count + 1, np.uint64)
        np.cumsum(edges, out=first[1:])
        if int(first[-1]) != self.counts[EDGES]:
            raise self._damaged()
        self._map.madvise(mmap.MADV_DONTNEED)  # pages that were read need no memory of ours
        return ObjectColumns(self._ids(count), type_, size, counted, first, order, edges)

    def edges(self, objects: ObjectColumns) -> EdgeColumns:
        count, total = len(objects.id), self.counts[EDGES]
        to, label = np.empty(total, np.uint32), np.empty(total, np.uint32)
        into, labels = np.zeros(count, np.uint32), np.empty(MAX_LABELS, np.uint64)
        columns = native.CpythonEdges(
            *(address(c) for c in (objects.first, to, label, into, labels)), MAX_LABELS
        )
        number = library().cpython_read_edges(
            self._file, self._numbers, address(objects.order), address(objects.edges), count,
            columns,
        )  # fmt: skip
        if number == NONE:
            raise MemoryError
        self._map.madvise(mmap.MADV_DONTNEED)
        kinds = (labels[:number] >> np.uint64(32)).tolist()
        names = (labels[:number] & np.uint64(NONE)).astype(np.uint32)
        # Strings are objects; fixed names are numbers of their own.
        of_strings = self.numbers(names)
        found = [
            (kind, NONE if name == NONE else name if kind == FIXED else of_string)
            for kind, name, of_string in zip(
                kinds, names.tolist(), of_strings.tolist(), strict=True
            )
        ]
        return EdgeColumns(to, label, found, into)

    def names(self) -> list[str]:
        """Fixed names, by number."""
        return [text for _, text in self._texts(self.bytes_of(NAMES), head=0)]

    def classes(self) -> Iterator[tuple[int, str]]:
        """The numbers of classes, and their names."""
        found = list(self._texts(self.bytes_of(TYPES), head=4))
        numbers = self.numbers(np.array([ref for ref, _ in found], np.uint32))
        for number, (_, name) in zip(numbers.tolist(), found, strict=True):
            if number != NONE:
                yield number, name

    def _texts(self, data: NDArray[np.uint8], head: int) -> Iterator[tuple[int, str]]:
        raw, at = data.tobytes(), 0
        while at + head + 2 <= len(raw):
            reference = int.from_bytes(raw[at : at + head], "little")
            at += head
            length = int.from_bytes(raw[at : at + 2], "little")
            yield reference, raw[at + 2 : at + 2 + length].decode("utf-8", "replace")
            at += 2 + length
