"""The texts and values of CPython's objects, and what code and classes are called."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sonde.heap.cpython.file import (
    FIXED,
    FRAMES,
    NONE,
    TEXTS,
    VALUE_FLOAT,
    VALUE_INT,
    VALUES,
    CpythonHeapFile,
    EdgeColumns,
    ObjectColumns,
)
from sonde.heap.library import address, library
from sonde.heap.snapshot import MAX_STORED_TEXT, Texts
from sonde.heap.texts import merged, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CpythonValues:
    """Of one file; sorted by object."""

    def __init__(self, file: CpythonHeapFile) -> None:
        values = file.records(VALUES)
        ends = np.cumsum(values["bytes"], dtype=np.uint64)
        numbers = file.numbers(np.ascontiguousarray(values["object"]))
        order = np.argsort(numbers, kind="stable")
        order = order[numbers[order] != NONE]
        self.object: NDArray[np.uint32] = numbers[order]
        self.values = np.ascontiguousarray(values[order])
        self._where = (ends - values["bytes"])[order]
        self._bytes = file.bytes_of(TEXTS)

    def integer(self, number: int) -> int | None:
        at = int(np.searchsorted(self.object, np.uint32(number)))
        if at == len(self.object) or int(self.object[at]) != number:
            return None
        value = self.values[at]
        if int(value["form"]) != VALUE_INT:
            return None
        return int(np.ascontiguousarray(value["digest"]).view(np.int64)[0])

    def strings(self) -> Texts:
        """In UTF-8: of strings and whole numbers; of bytes what is readable."""
        with_text = self.values["form"] != VALUE_FLOAT
        values = np.ascontiguousarray(self.values[with_text])
        where = np.ascontiguousarray(self._where[with_text])
        end = np.empty(len(values), np.uint64)

        def write(text: int | None) -> int:
            return int(
                library().cpython_texts(
                    address(values), address(where), len(values), address(self._bytes),
                    MAX_STORED_TEXT, address(end), text,
                )
            )  # fmt: skip

        text = np.empty(write(None), np.uint8)
        write(address(text))
        return Texts(self.object[with_text], end, text)

    def digests(self, is_plain: NDArray[np.bool_]) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Of objects that have nothing but the value; `is_plain` says which."""
        digest = np.ascontiguousarray(self.values["digest"]).view(np.uint64).reshape(-1)
        number = self.values["length"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= number ^ self.values["form"].astype(np.uint64)
        plain = is_plain[self.object]
        return self.object[plain], digest[plain]


class CpythonNames:
    """What classes, modules, functions and frames are called."""

    def __init__(
        self, file: CpythonHeapFile, objects: ObjectColumns, edges: EdgeColumns, strings: Texts
    ) -> None:
        self._file, self._objects, self._edges = file, objects, edges
        self._strings = strings
        self._fixed = file.names()

    def text(self, number: int) -> str | None:
        """Of a string."""
        texts = self._strings
        at = int(np.searchsorted(texts.object, np.uint32(number)))
        if at == len(texts.object) or int(texts.object[at]) != number:
            return None
        begin = int(texts.end[at - 1]) if at else 0
        return texts.bytes[begin : int(texts.end[at])].tobytes().decode("utf-8", "replace")

    @cached_property
    def labels(self) -> list[str]:
        """By number of the label; empty for what has no name."""
        return [
            ""
            if name == NONE
            else (self._fixed[name] if name < len(self._fixed) else "")
            if kind == FIXED
            else (self.text(name) or "")
            for kind, name in self._edges.labels
        ]

    def targets(self, name: str) -> dict[int, int]:
        """By object, what its reference of that name leads to."""
        wanted = [number for number, label in enumerate(self.labels) if label == name]
        flags = np.zeros(len(self.labels), bool)
        flags[wanted] = True
        places = np.flatnonzero(flags[self._edges.label])
        from_ = np.searchsorted(self._objects.first, places.astype(np.uint64), side="right") - 1
        return dict(zip(from_.tolist(), self._edges.to[places].tolist(), strict=True))

    @cached_property
    def of_code(self) -> dict[int, str]:
        """`function in file` of code objects."""
        files = self.targets("co_filename")
        found = {}
        for number, name in self.targets("co_qualname").items():
            file = os.path.basename(self.text(files.get(number, NONE)) or "")
            found[number] = f"{self.text(name) or '?'} in {file or '?'}"
        return found

    def all(self, modules: dict[int, str]) -> Texts:
        found = dict(self._file.classes())
        found |= modules
        for number, name in self.targets("__qualname__").items():
            if number not in found and (text := self.text(name)):
                found[number] = text
        found |= self.of_code
        frames = self._file.records(FRAMES)
        numbers = self._file.numbers(np.ascontiguousarray(frames["frame"]))
        codes = self._file.numbers(np.ascontiguousarray(frames["code"]))
        for number, code in zip(numbers.tolist(), codes.tolist(), strict=True):
            found[number] = self.of_code.get(code, "?")
        found.pop(NONE, None)
        for number in self._strings.object[np.isin(self._strings.object, list(found))].tolist():
            del found[number]
        rows = sorted(found.items())
        texts = [shortened(text.encode("utf-8", "replace")) for _, text in rows]
        return merged(
            Texts(
                np.array([number for number, _ in rows], np.uint32),
                np.cumsum([len(text) for text in texts], dtype=np.uint64),
                np.frombuffer(b"".join(texts), np.uint8),
            ),
            self._strings,
        )

    def threads(self, values: CpythonValues) -> dict[int, str]:
        """The names of threads that threading has, by the kernel's number."""
        names = self.targets("_name")
        found = {}
        for number, value in self.targets("_native_id").items():
            tid = values.integer(value)
            name = self.text(names.get(number, NONE))
            if tid is not None and name:
                found[tid] = name
        return found
