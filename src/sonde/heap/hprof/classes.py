"""The classes of an hprof file: what instances have in them, and how large objects are."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.heap.hprof.file import ARRAY, CLASS, INSTANCE, REFERENCE, VALUE_TYPES, VALUES
from sonde.heap.snapshot import HeapType, Label, LabelKind
from sonde.model.code_origin import is_java_platform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.hprof.file import HprofFile, HprofObjects

_CONTAINER = re.compile(
    r"(?:java\.util\.|scala\.collection\.|com\.google\.common\.collect\.)"
    r".*(?:List|Map|Set|Deque|Queue|Vector|Stack|Hashtable|Properties|Collection|Node|Entry|Arrays)"
    r"|java\.lang\.ThreadLocal\$ThreadLocalMap"
)
_ALIGNMENT = 8


class _Class(NamedTuple):
    name: str
    superclass: int
    fields: list[tuple[int, int]]
    """Its own, as instances have them: the id of the name and the type."""
    static_bytes: int


class Strings(NamedTuple):
    """Where java.lang.String has what."""

    number: int
    """Of the class."""
    value: int
    coder: int | None
    """From JDK 9 on."""


class ClassTable:
    """The types of all objects: classes by their number, then arrays of values."""

    def __init__(self, file: HprofFile, objects: HprofObjects) -> None:
        self._file, self._objects = file, objects
        self.labels: list[Label] = []
        self._label_numbers: dict[Label, int] = {}
        self.element_label = self.label("index", "")
        self.of_classes: dict[int, list[tuple[int, int]]] = {}
        """By class object, its references: label and id."""
        self._ids = np.unique(
            np.concatenate(
                [
                    objects.id[objects.kind == CLASS],
                    objects.class_id[(objects.kind == INSTANCE) | (objects.kind == ARRAY)],
                ]
            )
        )
        self._numbers = {int(id_): number for number, id_ in enumerate(self._ids)}
        classes = {
            int(objects.id[number]): self._read(number)
            for number in np.flatnonzero(objects.kind == CLASS).tolist()
        }
        names = [file.class_name(int(id_)) for id_ in self._ids]
        of_values = {code: len(names) + at for at, code in enumerate(VALUE_TYPES)}
        names += [f"{name}[]" for name, _ in VALUE_TYPES.values()]
        class_class = names.index("java.lang.Class") if "java.lang.Class" in names else len(names)
        if class_class == len(names):
            names.append("java.lang.Class")
        self.types = [
            HeapType(
                name,
                is_container=name.endswith("[]") or bool(_CONTAINER.match(name)),
                is_own=not name.endswith("[]") and not is_java_platform(name),
            )
            for name in names
        ]
        self._lay_out(classes)
        self.class_of = np.searchsorted(self._ids, objects.class_id).astype(np.uint32)
        of_class = objects.kind == CLASS
        self.class_of[of_class] = class_class
        self.type = self.class_of.copy()
        codes = np.zeros(max(VALUE_TYPES) + 1, np.uint32)
        codes[list(of_values)] = list(of_values.values())
        in_array = objects.kind == VALUES
        self.type[in_array] = codes[objects.class_id[in_array].astype(np.int64)]
        # Neither has fields of its own.
        self.class_of[in_array] = class_class

    def label(self, kind: LabelKind, name: str) -> int:
        label = Label(kind, name)
        number = self._label_numbers.setdefault(label, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def _read(self, number: int) -> _Class:
        """Of a class that was counted: its lengths are right."""
        file = self._file
        place = int(self._objects.where[number])
        superclass, loader = file.id_at(place + 4), file.id_at(place + 4 + file.id_size)
        references = [
            (self.label("superclass", ""), superclass),
            (self.label("loader", ""), loader),
        ]
        place += 4 + 6 * file.id_size + 4
        (count,) = struct.unpack_from(">H", file.map, place)
        place += 2
        for _ in range(count):
            place += 3 + self._value_size(file.map[place + 2])
        (count,) = struct.unpack_from(">H", file.map, place)
        place += 2
        static_bytes = 0
        for _ in range(count):
            type_ = file.map[place + file.id_size]
            value = place + file.id_size + 1
            if type_ == REFERENCE:
                name = file.string(file.id_at(place))
                references.append((self.label("static", name), file.id_at(value)))
            size = self._value_size(type_)
            static_bytes += size
            place = value + size
        (count,) = struct.unpack_from(">H", file.map, place)
        place += 2
        step = file.id_size + 1
        fields = [
            (file.id_at(place + i * step), file.map[place + i * step + file.id_size])
            for i in range(count)
        ]
        self.of_classes[number] = references
        name = file.class_name(int(self._objects.id[number]))
        return _Class(name, superclass, fields, static_bytes)

    def _value_size(self, type_: int) -> int:
        return self._file.id_size if type_ == REFERENCE else VALUE_TYPES[type_][1]

    def _lay_out(self, classes: dict[int, _Class]) -> None:
        """Which references instances of each class have, and where; their sizes."""
        count = len(self.types)
        self._first = np.zeros(count + 1, np.uint32)
        offsets: list[int] = []
        labels: list[int] = []
        self._reference_count = np.zeros(count, np.uint32)
        self._value_bytes = np.zeros(count, np.uint32)
        self.strings: Strings | None = None
        for number in range(count):
            self._first[number] = len(offsets)
            class_ = classes.get(int(self._ids[number])) if number < len(self._ids) else None
            name = class_.name if class_ else ""
            at, coder, seen = 0, None, set()
            while class_ is not None and class_.superclass not in seen:
                # A damaged file may have classes that extend each other.
                seen.add(class_.superclass)
                for name_id, type_ in class_.fields:
                    if type_ == REFERENCE:
                        offsets.append(at)
                        labels.append(self.label("attribute", self._file.string(name_id)))
                    elif name == "java.lang.String" and self._file.string(name_id) == "coder":
                        coder = at
                    at += self._value_size(type_)
                class_ = classes.get(class_.superclass)
            found = len(offsets) - int(self._first[number])
            if name == "java.lang.String" and found == 1:
                self.strings = Strings(number, offsets[-1], coder)
            self._reference_count[number] = found
            self._value_bytes[number] = at - found * self._file.id_size
        self._first[count] = len(offsets)
        self._offsets = np.array(offsets, np.uint32)
        self._labels = np.array(labels, np.uint32)
        self._static_bytes = {
            number: classes[int(self._objects.id[number])].static_bytes
            for number in self.of_classes
        }

    def reference_counts(self) -> NDArray[np.uint32]:
        """By class: how many references its instances have."""
        return self._reference_count

    def fields(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
        """References of instances: the first of each class, their places, and their labels."""
        return self._first, self._offsets, self._labels

    def sizes(self) -> NDArray[np.uint64]:
        """As HotSpot lays objects out: the file has neither headers nor how wide references are."""
        objects, class_of = self._objects, self.class_of.astype(np.int64)
        reference = self._reference_size()
        header, array_header = (12, 16) if self._file.id_size == 8 else (8, 12)
        instance = self._value_bytes.astype(np.uint64) + self._reference_count.astype(
            np.uint64
        ) * np.uint64(reference)
        widths = np.zeros(max(VALUE_TYPES) + 1, np.uint64)
        for code, (_, width) in VALUE_TYPES.items():
            widths[code] = width
        lengths = objects.length.astype(np.uint64)
        size = instance[class_of] + np.uint64(header)
        arrays = objects.kind == ARRAY
        size[arrays] = lengths[arrays] * np.uint64(reference) + np.uint64(array_header)
        values = objects.kind == VALUES
        width = widths[objects.class_id[values].astype(np.int64)]
        size[values] = lengths[values] * width + np.uint64(array_header)
        for number, static_bytes in self._static_bytes.items():
            size[number] = header + static_bytes
        mask = np.uint64(_ALIGNMENT - 1)
        aligned: NDArray[np.uint64] = (size + mask) & ~mask
        return aligned

    def _reference_size(self) -> int:
        """Half as wide as ids if an array lies closer to what follows it than it would else."""
        if self._file.id_size == 4:
            return 4
        objects = self._objects
        array = np.flatnonzero((objects.kind[:-1] == ARRAY) & (objects.length[:-1] >= 2))
        gap = objects.id[array + 1] - objects.id[array]
        return 4 if (gap < 16 + 8 * objects.length[array].astype(np.uint64)).any() else 8
