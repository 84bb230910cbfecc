"""What is new in a heap, and who holds it?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.heap.holders import HolderNames

if TYPE_CHECKING:
    from sonde.heap.graph import HeapGraph


@dataclass(frozen=True)
class HeapDiffRow:
    type: str
    holder: str
    count_delta: int
    bytes_delta: int
    is_own: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "holder": self.holder,
            "count_delta": self.count_delta,
            "bytes_delta": self.bytes_delta,
        }


@dataclass(frozen=True)
class HeapDiff:
    """Rows by the change in bytes: what grew most first, what shrank last."""

    count_delta: int
    bytes_delta: int
    rows: list[HeapDiffRow]
    left: int

    def to_json(self) -> dict[str, Any]:
        return {
            "count_delta": self.count_delta,
            "bytes_delta": self.bytes_delta,
            "rows": [row.to_json() for row in self.rows],
        }


def heap_diff(base: HeapGraph, new: HeapGraph, *, top: int | None = None) -> HeapDiff:
    before, after = _by_holder(base), _by_holder(new)
    rows = []
    for key in before.keys() | after.keys():
        (count_a, bytes_a, own_a), (count_b, bytes_b, own_b) = (
            side.get(key, (0, 0, False)) for side in (before, after)
        )
        if count_a != count_b or bytes_a != bytes_b:
            rows.append(HeapDiffRow(*key, count_b - count_a, bytes_b - bytes_a, own_a or own_b))
    rows.sort(key=lambda row: (-row.bytes_delta, -row.count_delta, row.type, row.holder))
    shown = rows
    if top is not None and len(rows) > top:
        # What changed most, whichever way.
        kept = sorted(rows, key=lambda row: -abs(row.bytes_delta))[:top]
        shown = [row for row in rows if row in kept]
    return HeapDiff(
        sum(row.count_delta for row in rows),
        sum(row.bytes_delta for row in rows),
        shown,
        len(rows) - len(shown),
    )


def _by_holder(graph: HeapGraph) -> dict[tuple[str, str], tuple[int, int, bool]]:
    snapshot, names = graph.snapshot, HolderNames(graph)
    alive = np.flatnonzero(graph.reachable).astype(np.uint32)
    keys = names.keys(alive)
    key = keys * np.uint64(len(snapshot.types)) + snapshot.type[alive]
    _, one, which, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    size = np.bincount(which, weights=snapshot.size[alive], minlength=len(one)).astype(np.int64)
    found: dict[tuple[str, str], tuple[int, int, bool]] = defaultdict(lambda: (0, 0, False))
    for group, number in enumerate(alive[one].tolist()):
        type_ = snapshot.type_of(number)
        # Two kinds of holder may have one name.
        row = (type_.name, names.name(number))
        counted, bytes_, _ = found[row]
        found[row] = (counted + int(count[group]), bytes_ + int(size[group]), type_.is_own)
    return found
