"""Which objects are of this type, have this attribute, this text or this size?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.units import parse_size
from sonde.views.heap.holders import HolderNames
from sonde.views.heap.object_text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.graph import HeapGraph

TOP = 20
_TERM = re.compile(
    r"\s*(type|attribute|text|size|retained)\s*(=|>=|<=|>|<)\s*(.+?)\s*\Z", re.DOTALL
)
_SIZES = ("size", "retained")
_SYNTAX = "type=GLOB, attribute=NAME, text=GLOB, size>SIZE, size<SIZE, retained>SIZE"


@dataclass(frozen=True)
class FoundObject:
    type: str
    text: str | None
    id: int
    shallow: int
    retained: int
    holder: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class FoundObjects:
    """Rows by retained size, descending: of objects that a root leads to."""

    objects: int
    bytes: int
    rows: list[FoundObject]

    def to_json(self) -> dict[str, Any]:
        return {
            "objects": self.objects,
            "bytes": self.bytes,
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True)
class Term:
    """One of the conditions that all have to hold."""

    of: str
    operator: str
    value: str

    def __call__(self, graph: HeapGraph, numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Those of these objects for which it holds."""
        if self.of in _SIZES:
            return numbers[self._holds(graph, numbers)]
        if self.of == "type":
            types = _types(graph, self.value)
            return numbers[np.isin(graph.snapshot.type[numbers], types)]
        if self.of == "attribute":
            return np.intersect1d(numbers, _having(graph, self.value), assume_unique=True)
        return numbers[_with_text(graph, numbers, self.value)]

    def _holds(self, graph: HeapGraph, numbers: NDArray[np.uint32]) -> NDArray[np.bool_]:
        sizes = (graph.snapshot.size if self.of == "size" else graph.retained)[numbers]
        limit = np.uint64(min(_size(self.of, self.value), 2**64 - 1))
        compare = {
            "=": np.equal, ">": np.greater, ">=": np.greater_equal,
            "<": np.less, "<=": np.less_equal,
        }[self.operator]  # fmt: skip
        found: NDArray[np.bool_] = compare(sizes, limit)
        return found


def parse_terms(text: str) -> list[Term]:
    """`type=*Session,size>1KiB`; a term without a name is a type."""
    terms = []
    for part in text.split(","):
        found = _TERM.match(part)
        if found is None and (not part.strip() or re.search(r"[=<>]", part)):
            raise UsageError(f"invalid --find {part.strip()!r}; valid conditions: {_SYNTAX}")
        term = Term(*found.groups()) if found else Term("type", "=", part.strip())
        if term.of in _SIZES:
            _size(term.of, term.value)
        elif term.operator != "=":
            raise UsageError(f"{term.of} cannot be compared by {term.operator}; use {term.of}=…")
        terms.append(term)
    return terms


def search(graph: HeapGraph, terms: list[Term], *, top: int | None = None) -> FoundObjects:
    numbers = np.flatnonzero(graph.reachable).astype(np.uint32)
    # Texts last: each has to be compared.
    for term in sorted(terms, key=lambda term: term.of == "text"):
        numbers = term(graph, numbers)
    retained = graph.retained[numbers]
    order = np.argsort(-retained.astype(np.int64), kind="stable")[: top or TOP]
    snapshot, names = graph.snapshot, HolderNames(graph)
    rows = [
        FoundObject(
            snapshot.type_of(number).name,
            text_of(snapshot, number),
            int(snapshot.id[number]),
            int(snapshot.size[number]),
            int(graph.retained[number]),
            names.name(number),
        )
        for number in numbers[order].tolist()
    ]
    return FoundObjects(len(numbers), int(snapshot.size[numbers].sum()), rows)


def _size(of: str, text: str) -> int:
    return 0 if text.strip() == "0" else parse_size(f"--find {of}", text)


def _types(graph: HeapGraph, glob: str) -> list[int]:
    """By the whole name, or by its last part."""
    matches = re.compile(translate(glob)).match
    names = [type_.name for type_ in graph.snapshot.types]
    return [
        number
        for number, name in enumerate(names)
        if matches(name) or any(matches(name[at.end() :]) for at in re.finditer(r"[.$]", name))
    ]


def _having(graph: HeapGraph, name: str) -> NDArray[np.uint32]:
    """Objects with a reference of this name."""
    snapshot = graph.snapshot
    labels = [number for number, label in enumerate(snapshot.labels) if label.name == name]
    edges = np.flatnonzero(np.isin(snapshot.label, labels)).astype(np.uint64)
    sources = np.searchsorted(snapshot.first, edges, side="right") - 1
    return np.unique(sources).astype(np.uint32)


def _with_text(graph: HeapGraph, numbers: NDArray[np.uint32], glob: str) -> NDArray[np.bool_]:
    matches = re.compile(translate(glob)).match
    texts = graph.snapshot.contents.texts()
    at = np.minimum(np.searchsorted(texts.object, numbers), max(len(texts.object) - 1, 0))
    found = np.zeros(len(numbers), bool)
    if not len(texts.object):
        return found
    for place in np.flatnonzero(texts.object[at] == numbers).tolist():
        number = int(at[place])
        begin = int(texts.end[number - 1]) if number else 0
        text = texts.bytes[begin : int(texts.end[number])].tobytes().decode("utf-8", "replace")
        found[place] = matches(text) is not None
    return found
