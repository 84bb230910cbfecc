"""Who holds an object: in words, and as a number for each kind of holder."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sonde.heap.graph import NO_OBJECT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.graph import HeapGraph


_NAMED = ("java.lang.Class", "module", "type", "function", "frame", "coroutine", "generator")
"""Types whose objects are distinguished."""


class HolderNames:
    """A holder is a field of a type, a static field of a class, or a root."""

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph

    @cached_property
    def _named(self) -> NDArray[np.uint32]:
        """Objects that are holders under a name of their own, such as classes."""
        holder = np.unique(self._graph.holders.holder)
        snapshot = self._graph.snapshot
        classes = [number for number, type_ in enumerate(snapshot.types) if type_.name in _NAMED]
        holder = holder[holder != NO_OBJECT]
        named: NDArray[np.uint32] = holder[np.isin(snapshot.type[holder], classes)]
        return named

    def keys(self, numbers: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Objects with equal keys are held by the same."""
        graph = self._graph
        holder, label = graph.holders.holder[numbers], graph.holders.label[numbers]
        held = holder != NO_OBJECT
        kinds = len(graph.snapshot.types)
        kind = np.zeros(len(numbers), np.uint64)
        kind[held] = graph.snapshot.type[holder[held]]
        at = np.searchsorted(self._named, holder[held])
        at = np.minimum(at, max(len(self._named) - 1, 0))
        named = (
            self._named[at] == holder[held] if len(self._named) else np.zeros(len(at), dtype=bool)
        )
        values = kind[held]
        values[named] = at[named].astype(np.uint64) + np.uint64(kinds)
        kind[held] = values
        labels = np.uint64(len(graph.snapshot.labels) + 1)
        key: NDArray[np.uint64] = np.where(held, kind * labels + label + np.uint64(1), 0).astype(
            np.uint64
        )
        return key

    def name(self, number: int) -> str:
        """`Server.sessions`; of a root what it is."""
        graph = self._graph
        snapshot = graph.snapshot
        holder = int(graph.holders.holder[number])
        if holder == NO_OBJECT:
            way = graph.path(number)
            return str(graph.root_of[way[0]]) if way else "nothing"
        label = snapshot.labels[int(graph.holders.label[number])]
        text = snapshot.contents.text(holder)
        type_ = snapshot.type_of(holder)
        owner = text if text is not None and not type_.is_container else type_.name
        if label.kind in ("index", "key"):
            return f"{owner}[{label.name or '…'}]"
        return f"{owner}.{label.name}" if label.name else owner
