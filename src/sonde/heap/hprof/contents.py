"""What is in the objects of an hprof file, read when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.heap import library as native
from sonde.heap.hprof.file import ARRAY, CLASS, INSTANCE, NOT_THERE, VALUE_TYPES, VALUES
from sonde.heap.library import address, library
from sonde.heap.snapshot import MAX_STORED_TEXT, Rooms, Texts
from sonde.heap.texts import merged, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.hprof.classes import ClassTable
    from sonde.heap.hprof.file import HprofFile, HprofObjects, IdFinder


@dataclass(frozen=True)
class HprofContents:
    """What is in objects, read from the file when it is asked for."""

    file: HprofFile
    objects: HprofObjects
    table: ClassTable
    finder: IdFinder
    first: NDArray[np.uint64]
    to: NDArray[np.uint32]
    label: NDArray[np.uint32]

    def text(self, number: int) -> str | None:
        kind = int(self.objects.kind[number])
        if kind == CLASS:
            return self.file.class_name(int(self.objects.id[number]))
        strings = self.table.strings
        if kind != INSTANCE or strings is None or self.table.class_of[number] != strings.number:
            return None
        place = int(self.objects.where[number])
        target = self.finder(self.file.id_at(place + strings.value))
        if target is None or self.objects.kind[target] != VALUES:
            return None
        begin, length = int(self.objects.where[target]), int(self.objects.length[target])
        if int(self.objects.class_id[target]) == 5:
            return self.file.map[begin : begin + 2 * length].decode("utf-16-be", "replace")
        wide = strings.coder is not None and self.file.map[place + strings.coder]
        text = self.file.map[begin : begin + length]
        return text.decode("utf-16-le" if wide else "latin-1", "replace")

    def index(self, number: int, target: int) -> int | None:
        if self.objects.kind[number] != ARRAY:
            return None
        begin, size = int(self.objects.where[number]), self.file.id_size
        end = begin + int(self.objects.length[number]) * size
        elements = np.frombuffer(self.file.map[begin:end], f">u{size}")
        found = np.flatnonzero(elements == self.objects.id[target])
        return int(found[0]) if len(found) else None

    def digests(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Arrays of values, and instances without references; a string counts with its array."""
        kind, class_of = self.objects.kind, self.table.class_of
        plain = (kind == INSTANCE) & (self.table.reference_counts()[class_of] == 0)
        plain &= self.objects.length > 0
        numbers = np.flatnonzero(plain | (kind == VALUES)).astype(np.uint32)
        widths = np.array([VALUE_TYPES.get(code, ("", 1))[1] for code in range(12)], np.uint64)
        of_values = kind[numbers] == VALUES
        element = np.where(of_values, self.objects.class_id[numbers], 8)
        size = self.objects.length[numbers] * widths[element.astype(np.int64)]
        where = np.ascontiguousarray(self.objects.where[numbers])
        digest = np.empty(len(numbers), np.uint64)
        library().hprof_digest(
            address(self.file.bytes), address(where), address(size), len(numbers), address(digest)
        )
        strings = self.table.strings
        if strings is None:
            return numbers, digest
        with_array = np.flatnonzero((kind == INSTANCE) & (class_of == strings.number))
        with_array = with_array[self.first[with_array] < self.first[with_array + 1]]
        array = self.to[self.first[with_array].astype(np.int64)]
        of_object = np.zeros(len(kind), np.uint64)
        of_object[numbers] = digest
        held = np.zeros(len(kind), bool)
        held[array] = True
        keep = ~held[numbers]
        coder = np.zeros(len(with_array), np.uint64)
        if strings.coder is not None:
            places = self.objects.where[with_array] + np.uint64(strings.coder)
            coder = self.file.bytes[places.astype(np.int64)].astype(np.uint64)
        return (
            np.concatenate([numbers[keep], with_array.astype(np.uint32)]),
            np.concatenate([digest[keep], of_object[array] + coder]),
        )

    def rooms(self) -> Rooms:
        arrays = np.flatnonzero(self.objects.kind == ARRAY).astype(np.uint32)
        used = np.diff(self.first)[arrays].astype(np.uint32)
        return Rooms(arrays, self.objects.length[arrays], used)

    def positions(self) -> NDArray[np.uint32]:
        objects = self.objects
        arrays = objects.kind == ARRAY
        found = np.empty(int(np.diff(self.first)[arrays].sum()), np.uint32)
        library().hprof_positions(
            address(self.file.bytes), self.file.id_size, self.finder.ids, address(objects.where),
            address(objects.length), address(objects.kind), address(found),
        )  # fmt: skip
        return found

    def texts(self) -> Texts:
        classes = np.flatnonzero(self.objects.kind == CLASS).astype(np.uint32)
        names = [
            shortened(self.file.class_name(int(id_)).encode())
            for id_ in self.objects.id[classes].tolist()
        ]
        ends = np.cumsum([len(name) for name in names], dtype=np.uint64)
        of_classes = Texts(classes, ends, np.frombuffer(b"".join(names), np.uint8))
        return merged(of_classes, self._strings())

    def _strings(self) -> Texts:
        strings, objects = self.table.strings, self.objects
        if strings is None:
            return Texts(np.zeros(0, np.uint32), np.zeros(0, np.uint64), np.zeros(0, np.uint8))
        numbers = np.flatnonzero(
            (objects.kind == INSTANCE) & (self.table.class_of == strings.number)
        ).astype(np.uint32)
        end = np.empty(len(numbers), np.uint64)
        layout = native.StringLayout(
            strings.value, NOT_THERE if strings.coder is None else strings.coder
        )
        columns = native.Objects(*(address(column) for column in objects))

        def write(text: int | None) -> int:
            return int(
                library().hprof_texts(
                    address(self.file.bytes), self.file.id_size, self.finder.ids, columns,
                    address(numbers), len(numbers), layout, MAX_STORED_TEXT, address(end), text,
                )
            )  # fmt: skip

        text = np.empty(write(None), np.uint8)
        write(address(text))
        return Texts(numbers, end, text)
