"""What is new in a heap, and who holds it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.heap.graph import UNREACHABLE
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


@dataclass(frozen=True)
class _Held:
    count: int = 0
    bytes: int = 0
    is_own: bool = False


Held = dict[tuple[str, str], _Held]
"""What a heap has, by type and holder: a summary that does not need the heap any more."""


def heap_diff(base: HeapGraph, new: HeapGraph, *, top: int | None = None) -> HeapDiff:
    return difference(held(base), held(new), top=top)


def difference(before: Held, after: Held, *, top: int | None = None) -> HeapDiff:
    rows = []
    for key in before.keys() | after.keys():
        old, new = before.get(key, _Held()), after.get(key, _Held())
        if (old.count, old.bytes) != (new.count, new.bytes):
            rows.append(
                HeapDiffRow(
                    *key, new.count - old.count, new.bytes - old.bytes, old.is_own or new.is_own
                )
            )
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


def held(graph: HeapGraph) -> Held:
    snapshot, names = graph.snapshot, HolderNames(graph)
    alive = np.flatnonzero(graph.shortest.parent != UNREACHABLE).astype(np.uint32)
    key = names.keys(alive) * np.uint64(len(snapshot.types)) + snapshot.type[alive]
    kinds, one, which = np.unique(key, return_index=True, return_inverse=True)
    del key
    count = np.bincount(which, minlength=len(kinds))
    size = np.bincount(which, weights=snapshot.size[alive], minlength=len(kinds)).astype(np.int64)
    del which
    found: Held = {}
    for group, number in enumerate(alive[one].tolist()):
        type_ = snapshot.type_of(number)
        # Two kinds of holder may have one name.
        row = (type_.name, names.name(number))
        known = found.get(row, _Held())
        found[row] = _Held(
            known.count + int(count[group]), known.bytes + int(size[group]), type_.is_own
        )
    return found
