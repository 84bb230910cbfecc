"""Which memory holds the same value again, or nothing?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.heap.holders import HolderNames
from sonde.views.heap.object_text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.graph import HeapGraph

MIN_ROOM = 16
"""Shorter arrays waste little, whatever is in them."""
MAX_USED = 0.25


@dataclass(frozen=True)
class DuplicateRow:
    """Objects of a type that have the same value."""

    type: str
    value: str | None
    count: int
    bytes: int
    wasted: int
    """All but one of them."""
    holder: str
    """Of one of them."""

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "value": self.value,
            "count": self.count,
            "bytes": self.bytes,
            "wasted": self.wasted,
            "holder": self.holder,
        }


@dataclass(frozen=True)
class SparseRow:
    """Arrays that are nearly empty, by type and holder."""

    type: str
    holder: str
    count: int
    room: int
    used: int
    wasted: int

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "holder": self.holder,
            "count": self.count,
            "room": self.room,
            "used": self.used,
            "wasted": self.wasted,
        }


@dataclass(frozen=True)
class Duplicates:
    """Rows by what is wasted, descending; `wasted` is of all duplicates."""

    wasted: int
    sparse_wasted: int
    rows: list[DuplicateRow]
    sparse: list[SparseRow]
    left: int

    def to_json(self) -> dict[str, Any]:
        return {
            "wasted": self.wasted,
            "sparse_wasted": self.sparse_wasted,
            "rows": [row.to_json() for row in self.rows],
            "sparse": [row.to_json() for row in self.sparse],
        }


def duplicates(graph: HeapGraph, *, top: int = 20) -> Duplicates:
    snapshot = graph.snapshot
    numbers, digest = snapshot.contents.digests()
    alive = graph.reachable[numbers]
    numbers, digest = numbers[alive], digest[alive]
    in_order = np.argsort(numbers, kind="stable")
    numbers, digest = numbers[in_order], digest[in_order]
    # The type is part of the value.
    digest = digest ^ (snapshot.type[numbers].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    size = snapshot.size[numbers] + _values_of(graph, numbers)
    _, one, which, count = np.unique(
        digest, return_index=True, return_inverse=True, return_counts=True
    )
    total = np.bincount(which, weights=size, minlength=len(one)).astype(np.int64)
    wasted = total * (count - 1) // count
    order = np.lexsort((one, -wasted))
    order = order[count[order] > 1]
    names = HolderNames(graph)
    rows = []
    for group in order[:top].tolist():
        number = int(numbers[one[group]])
        value = text_of(snapshot, number)
        rows.append(
            DuplicateRow(
                snapshot.type_of(number).name, value, int(count[group]), int(total[group]),
                int(wasted[group]), names.name(number),
            )
        )  # fmt: skip
    sparse, sparse_wasted = _sparse(graph, names, top)
    return Duplicates(int(wasted.sum()), sparse_wasted, rows, sparse, len(order) - len(rows))


def _values_of(graph: HeapGraph, numbers: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Bytes of what each object has its value in, shared by those that share it."""
    snapshot = graph.snapshot
    more = np.zeros(len(numbers), np.uint64)
    first = snapshot.first[numbers].astype(np.int64)
    with_value = np.flatnonzero(
        snapshot.first[numbers.astype(np.int64) + 1] > snapshot.first[numbers]
    )
    target = snapshot.to[first[with_value]]
    sharing = np.bincount(target, minlength=len(snapshot))[target].astype(np.uint64)
    more[with_value] = snapshot.size[target] // sharing
    return more


def _sparse(graph: HeapGraph, names: HolderNames, top: int) -> tuple[list[SparseRow], int]:
    snapshot = graph.snapshot
    arrays, room, used_ = snapshot.contents.rooms()
    used = used_.astype(np.int64)
    picked = (room >= MIN_ROOM) & (used <= MAX_USED * room) & graph.reachable[arrays]
    arrays, room, used = arrays[picked], room[picked].astype(np.int64), used[picked]
    wasted = snapshot.size[arrays].astype(np.int64) * (room - used) // np.maximum(room, 1)
    pairs = np.stack([snapshot.type[arrays].astype(np.uint64), names.keys(arrays)], axis=1)
    if not len(pairs):
        return [], 0
    _, one, which, count = np.unique(
        pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    which = which.reshape(-1)
    sums = np.bincount(which, weights=wasted, minlength=len(one)).astype(np.int64)
    rooms = np.bincount(which, weights=room, minlength=len(one)).astype(np.int64)
    uses = np.bincount(which, weights=used, minlength=len(one)).astype(np.int64)
    rows = [
        SparseRow(
            snapshot.type_of(int(arrays[one[group]])).name, names.name(int(arrays[one[group]])),
            int(count[group]), int(rooms[group]), int(uses[group]), int(sums[group]),
        )
        for group in np.argsort(-sums, kind="stable")[:top].tolist()
    ]  # fmt: skip
    return rows, int(sums.sum())
