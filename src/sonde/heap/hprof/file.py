"""An hprof file: its records, as whatever wrote them meant them.

The records outside of the heap are few and read here, the objects by native/heap. A file that ends
early or is damaged in places gives what can be read of it.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.errors import SondeError
from sonde.heap import library as native
from sonde.heap.library import address, library

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"JAVA PROFILE 1.0."
_UTF8, _LOAD_CLASS, _FRAME, _TRACE = 0x01, 0x02, 0x04, 0x05
_HEAP_DUMP, _HEAP_DUMP_SEGMENT = 0x0C, 0x1C
INSTANCE, ARRAY, VALUES, CLASS = range(4)
"""Kinds of objects, as native/heap numbers them: of arrays those of references and of values."""
NOT_THERE = 2**32 - 1
VALUE_TYPES = {
    4: ("boolean", 1), 5: ("char", 2), 6: ("float", 4), 7: ("double", 8),
    8: ("byte", 1), 9: ("short", 2), 10: ("int", 4), 11: ("long", 8),
}  # fmt: skip
"""Name and size, by the number the file has for it."""
REFERENCE = 2
_SIGNATURES = {
    "Z": "boolean", "C": "char", "F": "float", "D": "double",
    "B": "byte", "S": "short", "I": "int", "J": "long",
}  # fmt: skip


def is_hprof(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def type_name(name: str) -> str:
    """`[Ljava/lang/String;` is java.lang.String[]."""
    dimensions = len(name) - len(name.lstrip("["))
    name = name[dimensions:]
    if dimensions:
        name = name[1:-1] if name.startswith("L") else _SIGNATURES.get(name, name)
    return name.replace("/", ".") + "[]" * dimensions


@dataclass
class _Names:
    """What the records outside of the heap say."""

    strings: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By id, where the text is."""
    classes: dict[int, int] = field(default_factory=dict)
    """By id, the id of the name."""
    frames: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By id, the ids of the method's name and of its source file."""
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By id, the serial number of the class and the line."""
    class_serials: dict[int, int] = field(default_factory=dict)
    traces: dict[int, list[int]] = field(default_factory=dict)
    """By the serial number of the thread, frames, innermost first."""
    segments: list[tuple[int, int]] = field(default_factory=list)


class HprofObjects(NamedTuple):
    id: NDArray[np.uint64]
    class_id: NDArray[np.uint64]
    where: NDArray[np.uint64]
    length: NDArray[np.uint32]
    kind: NDArray[np.uint8]


class HprofRoots(NamedTuple):
    id: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    thread: NDArray[np.uint32]
    frame: NDArray[np.uint32]


class HprofFile:
    """The file in memory, and what finds an object in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.warnings: list[str] = []
        with open(path, "rb") as file:
            start = file.read(32)
            if start[:2] == b"\x1f\x8b":
                raise SondeError(f"{path} is compressed; decompress it with gunzip first")
            if not start.startswith(MAGIC) or b"\0" not in start:
                raise SondeError(f"{path} is no hprof file")
            header = start.index(b"\0") + 1
            if len(start) < header + 12:
                raise SondeError(f"{path} ends before its first record")
            self.id_size: int = struct.unpack_from(">I", start, header)[0]
            if self.id_size not in (4, 8):
                raise SondeError(f"{path} is damaged: its ids have {self.id_size} bytes")
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.bytes = np.frombuffer(self.map, np.uint8)
        self._id = struct.Struct(">Q" if self.id_size == 8 else ">I")
        self.names = self._names(header + 12)

    def id_at(self, place: int) -> int:
        return int(self._id.unpack_from(self.map, place)[0])

    def string(self, id_: int) -> str:
        begin, end = self.names.strings.get(id_, (0, 0))
        return self.map[begin:end].decode("utf-8", "replace")

    def class_name(self, class_id: int) -> str:
        name = self.names.classes.get(class_id)
        return type_name(self.string(name)) if name is not None else f"class {class_id:#x}"

    def frame(self, thread: int, number: int) -> str:
        """`Class.method (File.java:12)`, or nothing if it is unknown."""
        frames = self.names.traces.get(thread, [])
        if number >= len(frames) or frames[number] not in self.names.frames:
            return ""
        method, source = self.names.frames[frames[number]]
        serial, line = self.names.lines[frames[number]]
        owner = self.class_name(self.names.class_serials.get(serial, 0))
        name = f"{owner.rpartition('.')[2]}.{self.string(method)}"
        file = self.string(source)
        return f"{name} ({file}:{line})" if file and line > 0 else name

    def _names(self, at: int) -> _Names:
        names, size, id_size = _Names(), len(self.map), self.id_size
        while at + 9 <= size:
            tag, _, length = struct.unpack_from(">BII", self.map, at)
            begin = at + 9
            at = begin + length
            if at > size:
                self.warnings.append(
                    f"{self.path} ends early: {at - size:,} bytes of its last record are missing"
                )
                if tag in (_HEAP_DUMP, _HEAP_DUMP_SEGMENT):
                    names.segments.append((begin, size))
                break
            if tag == _UTF8 and length >= id_size:
                names.strings[self.id_at(begin)] = (begin + id_size, at)
            elif tag == _LOAD_CLASS and length >= 8 + 2 * id_size:
                class_id = self.id_at(begin + 4)
                names.classes[class_id] = self.id_at(begin + 8 + id_size)
                names.class_serials[struct.unpack_from(">I", self.map, begin)[0]] = class_id
            elif tag == _FRAME and length >= 4 * id_size + 8:
                frame = self.id_at(begin)
                names.frames[frame] = (
                    self.id_at(begin + id_size),
                    self.id_at(begin + 3 * id_size),
                )
                names.lines[frame] = struct.unpack_from(">Ii", self.map, begin + 4 * id_size)
            elif tag == _TRACE and length >= 12:
                _, thread, count = struct.unpack_from(">III", self.map, begin)
                count = min(count, (length - 12) // id_size)
                names.traces[thread] = [self.id_at(begin + 12 + i * id_size) for i in range(count)]
            elif tag in (_HEAP_DUMP, _HEAP_DUMP_SEGMENT):
                names.segments.append((begin, at))
        return names

    def heap(self) -> tuple[HprofObjects, HprofRoots, int]:
        """Objects and roots in the order of the file, and how many elements arrays have."""
        counts = native.Counts()
        objects = roots = elements = 0
        segments = list(self.names.segments)
        for at, (begin, end) in enumerate(segments):
            one = np.array([begin, end], np.uint64)
            library().hprof_count(address(self.bytes), address(one), 1, self.id_size, counts)
            if counts.error:
                self.warnings.append(
                    f"{self.path} is damaged at byte {counts.error_at:,} "
                    f"({counts.error.decode()}): {end - counts.error_at:,} bytes were left out"
                )
                segments[at] = (begin, counts.error_at)
            objects += counts.objects
            roots += counts.roots
            elements += counts.elements
        found = HprofObjects(
            np.empty(objects, np.uint64), np.empty(objects, np.uint64),
            np.empty(objects, np.uint64), np.empty(objects, np.uint32), np.empty(objects, np.uint8),
        )  # fmt: skip
        of_roots = HprofRoots(
            np.empty(roots, np.uint64), np.empty(roots, np.uint8),
            np.empty(roots, np.uint32), np.empty(roots, np.uint32),
        )  # fmt: skip
        places = np.array(segments, np.uint64).reshape(-1, 2)
        library().hprof_read(
            address(self.bytes), address(places), len(segments), self.id_size,
            native.Objects(*(address(column) for column in found)),
            native.Roots(*(address(column) for column in of_roots)),
        )  # fmt: skip
        return found, of_roots, elements


class IdFinder:
    """From ids to numbers."""

    def __init__(self, ids: NDArray[np.uint64]) -> None:
        base, span = int(ids[0]), int(ids[-1] - ids[0])
        shift = 0
        while (span >> shift) + 1 > 2 * len(ids) + 1024:
            shift += 1
        buckets = (span >> shift) + 1
        starts = (np.arange(buckets + 1, dtype=np.uint64) << np.uint64(shift)) + np.uint64(base)
        self._index = np.searchsorted(ids, starts).astype(np.uint32)
        self._index[-1] = len(ids)
        self._ids = ids
        self.ids = native.Ids(address(ids), len(ids), address(self._index), buckets, base, shift)

    def __call__(self, id_: int) -> int | None:
        found = library().hprof_find(self.ids, id_)
        return None if found == NOT_THERE else int(found)
