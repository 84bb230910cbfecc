"""All objects of a process at one moment, as columns.

Objects are numbered; a column has one value for each. Types and labels of references are numbered,
too: few of them stand behind millions of objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LabelKind = Literal[
    "attribute", "static", "index", "key", "local", "closure", "type", "superclass", "loader"
]


KEY_ITSELF = "(key)"
"""The name of the reference to a dictionary's key. The next one leads to the value; if that has no
name of its own, the key is what it is called."""


class Label(NamedTuple):
    """What a reference is in the object that has it."""

    kind: LabelKind
    name: str

    def __str__(self) -> str:
        return self.name if self.kind != "index" else "[…]"


class HeapType(NamedTuple):
    name: str
    is_container: bool
    """Whether it is there for what others put into it: a list, a table, a node of one."""
    is_own: bool
    """Whether it is the program's own rather than a library's."""


class Root(NamedTuple):
    """Why an object lives without another one: a thread's variable, a class that was loaded."""

    object: int
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name or None}


class Texts(NamedTuple):
    """The texts of objects, in UTF-8: that of object[i] ends at end[i], where the next begins."""

    object: NDArray[np.uint32]
    """Ascending."""
    end: NDArray[np.uint64]
    bytes: NDArray[np.uint8]


class Rooms(NamedTuple):
    """Containers, how many elements each has room for, and how many it has."""

    object: NDArray[np.uint32]
    room: NDArray[np.uint32]
    used: NDArray[np.uint32]


class Contents(Protocol):
    """What is in objects. A snapshot file keeps what the last four return."""

    def text(self, number: int) -> str | None:
        """The value of a string, or what a class is called."""

    def index(self, number: int, target: int) -> int | None:
        """Where in an array the first reference to `target` is."""

    def texts(self) -> Texts:
        """All texts, each cut to MAX_STORED_TEXT bytes."""

    def positions(self) -> NDArray[np.uint32] | None:
        """Of each reference whose label is an index, in the order of references, that index.

        None: the references of an object have the indices 0, 1, 2, …
        """

    def digests(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Objects that consist of nothing but a value, and a number for each value."""

    def rooms(self) -> Rooms:
        """Containers that may be nearly empty."""


MAX_STORED_TEXT = 200
"""Bytes; a text that is longer ends with an ellipsis in a snapshot file."""


@dataclass(frozen=True)
class Origin:
    """Where a snapshot comes from, as far as it is known."""

    pid: int | None = None
    version: str = ""
    """Of the runtime."""
    argv: list[str] = field(default_factory=list)
    taken: str = ""
    """When, as ISO 8601 in UTC."""
    pause_ns: int | None = None
    """How long the program was stopped."""
    walk_ns: int | None = None
    """How long it took to collect the objects, during the pause or beside the program."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Snapshot:
    path: str
    runtime: str
    types: list[HeapType]
    labels: list[Label]
    type: NDArray[np.uint32]
    size: NDArray[np.uint64]
    id: NDArray[np.uint64]
    """What the process called it: ascending."""
    first: NDArray[np.uint64]
    """One more than objects: the references of object o are those from first[o] to first[o + 1]."""
    to: NDArray[np.uint32]
    label: NDArray[np.uint32]
    roots: list[Root]
    contents: Contents
    estimated_sizes: bool = False
    """Whether sizes follow from the fields alone, as in a file that does not have them."""
    warnings: list[str] = field(default_factory=list)
    origin: Origin = Origin()

    def __len__(self) -> int:
        return len(self.type)

    def number_of(self, id_: int) -> int | None:
        at = int(np.searchsorted(self.id, np.uint64(id_)))
        return at if at < len(self.id) and int(self.id[at]) == id_ else None

    def type_of(self, number: int) -> HeapType:
        return self.types[int(self.type[number])]
