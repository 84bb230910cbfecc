"""What follows from who refers to whom: paths, dominators, retained sizes, holders.

Each is computed when it is first asked for; native/heap does the work.
"""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sonde.errors import SondeError
from sonde.heap import library as native
from sonde.heap.library import address, library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.snapshot import Root, Snapshot

NO_OBJECT = 2**32 - 1
UNREACHABLE = 2**32 - 2


class Shortest(NamedTuple):
    """A shortest path to each object: the object before it, and the reference from that."""

    parent: NDArray[np.uint32]
    via: NDArray[np.uint64]
    order: NDArray[np.uint32]
    """Reachable objects, nearest first."""


class Dominators(NamedTuple):
    dominator: NDArray[np.uint32]
    order: NDArray[np.uint32]
    """Reachable objects, each after its dominator."""


class Holders(NamedTuple):
    """The nearest object on the shortest path that is no container, and its reference's label."""

    holder: NDArray[np.uint32]
    label: NDArray[np.uint32]


class HeapGraph:
    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._roots = np.unique(
            np.fromiter((root.object for root in snapshot.roots), np.uint32, len(snapshot.roots))
        )
        self._graph = native.Graph(
            len(snapshot),
            address(snapshot.first),
            address(snapshot.to),
            address(self._roots),
            len(self._roots),
        )
        if not library().graph_is_valid(self._graph, len(snapshot.to)):
            raise SondeError(f"{snapshot.path} is damaged: a reference leads to no object")

    @cached_property
    def root_of(self) -> dict[int, Root]:
        """By object, the first root that was found."""
        found: dict[int, Root] = {}
        for root in self.snapshot.roots:
            found.setdefault(root.object, root)
        return found

    @cached_property
    def shortest(self) -> Shortest:
        count = len(self.snapshot)
        parent, order = np.empty(count, np.uint32), np.empty(count, np.uint32)
        via = np.empty(count, np.uint64)
        reached = library().graph_shortest(
            self._graph, address(parent), address(via), address(order)
        )
        return Shortest(parent, via, order[:reached])

    @cached_property
    def nearness(self) -> NDArray[np.uint32]:
        """Smaller for what has a shorter path."""
        order = self.shortest.order
        place = np.full(len(self.snapshot), NO_OBJECT, np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        return place

    def referrers(self, number: int) -> NDArray[np.uint32]:
        """What refers to an object: once for each reference."""
        begin, from_ = self._reversed
        return from_[int(begin[number]) : int(begin[number + 1])]

    @cached_property
    def _reversed(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        begin = np.empty(len(self.snapshot) + 1, np.uint64)
        from_ = np.empty(len(self.snapshot.to), np.uint32)
        library().graph_referrers(self._graph, address(begin), address(from_))
        return begin, from_

    @cached_property
    def dominators(self) -> Dominators:
        count = len(self.snapshot)
        dominator, order = np.empty(count, np.uint32), np.empty(count, np.uint32)
        reached = ctypes.c_uint64()
        done = library().graph_dominators(
            self._graph, address(dominator), address(order), ctypes.byref(reached)
        )
        if not done:
            raise MemoryError
        return Dominators(dominator, order[: reached.value])

    @cached_property
    def reachable(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.dominators.dominator != UNREACHABLE
        return found

    @cached_property
    def retained(self) -> NDArray[np.uint64]:
        """What would be freed with each object: 0 for what is unreachable."""
        retained = np.empty(len(self.snapshot), np.uint64)
        dominator, order = self.dominators
        library().sizes_retained(
            len(self.snapshot), len(order), address(order), address(dominator),
            address(self.snapshot.size), address(retained),
        )  # fmt: skip
        return retained

    @cached_property
    def retained_by_type(self) -> NDArray[np.uint64]:
        """What would be freed with all objects of a type."""
        types = len(self.snapshot.types)
        retained = np.empty(types, np.uint64)
        dominator, order = self.dominators
        done = library().sizes_by_type(
            len(self.snapshot), len(order), address(order), address(dominator),
            address(self.retained), address(self.snapshot.type), types, address(retained),
        )  # fmt: skip
        if not done:
            raise MemoryError
        return retained

    def retained_by(self, members: NDArray[np.uint32]) -> int:
        """What would be freed with all these objects."""
        flags = np.zeros(len(self.snapshot), np.uint8)
        flags[members] = 1
        dominator, order = self.dominators
        found = ctypes.c_uint64()
        done = library().sizes_of_set(
            len(self.snapshot), len(order), address(order), address(dominator),
            address(self.retained), address(flags), ctypes.byref(found),
        )  # fmt: skip
        if not done:
            raise MemoryError
        return found.value

    @cached_property
    def _containers(self) -> NDArray[np.uint8]:
        return np.array([type_.is_container for type_ in self.snapshot.types], np.uint8)

    @cached_property
    def holders(self) -> Holders:
        snapshot, (parent, via, order) = self.snapshot, self.shortest
        holder = np.full(len(snapshot), NO_OBJECT, np.uint32)
        label = np.full(len(snapshot), NO_OBJECT, np.uint32)
        library().sizes_holders(
            len(order), address(order), address(parent), address(via), address(snapshot.label),
            address(snapshot.type), address(self._containers), address(holder), address(label),
        )  # fmt: skip
        return Holders(holder, label)

    @cached_property
    def path_numbers(self) -> NDArray[np.uint64]:
        """Objects that are reached alike, by types and names, have the same number."""
        snapshot, (parent, via, order) = self.snapshot, self.shortest
        of_root = np.zeros(len(snapshot), np.uint64)
        names: dict[tuple[str, str], int] = {}
        for number, root in self.root_of.items():
            of_root[number] = names.setdefault((root.kind, root.name), len(names))
        found = np.zeros(len(snapshot), np.uint64)
        library().sizes_paths(
            len(order), address(order), address(parent), address(via), address(snapshot.label),
            address(snapshot.type), address(self._containers), address(of_root), address(found),
        )  # fmt: skip
        return found

    def path(self, number: int) -> list[int]:
        """The objects from a root to this one; empty if no root leads there."""
        parent = self.shortest.parent
        if parent[number] == UNREACHABLE:
            return []
        way = [number]
        while parent[way[-1]] != NO_OBJECT:
            way.append(int(parent[way[-1]]))
        return way[::-1]
