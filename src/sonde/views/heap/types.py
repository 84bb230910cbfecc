"""Which types fill the heap?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sonde.heap.graph import HeapGraph


@dataclass(frozen=True)
class HeapTypeRow:
    type: str
    count: int
    shallow: int
    """Bytes of the objects themselves."""
    retained: int
    """What would be freed with all of them."""
    is_own: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "count": self.count,
            "shallow": self.shallow,
            "retained": self.retained,
        }


@dataclass(frozen=True)
class HeapTypes:
    """Rows by retained size, descending: of objects that a root leads to."""

    objects: int
    bytes: int
    unreachable_objects: int
    unreachable_bytes: int
    estimated_sizes: bool
    rows: list[HeapTypeRow]
    left: int
    """Types that are not here."""

    def to_json(self) -> dict[str, Any]:
        return {
            "objects": self.objects,
            "bytes": self.bytes,
            "unreachable_objects": self.unreachable_objects,
            "unreachable_bytes": self.unreachable_bytes,
            "rows": [row.to_json() for row in self.rows],
        }


def heap_types(graph: HeapGraph, *, top: int | None = None) -> HeapTypes:
    snapshot, reachable = graph.snapshot, graph.reachable
    number = len(snapshot.types)
    count = np.bincount(snapshot.type[reachable], minlength=number)
    shallow = np.bincount(
        snapshot.type[reachable], weights=snapshot.size[reachable], minlength=number
    ).astype(np.int64)
    retained = graph.retained_by_type
    present = np.flatnonzero(count)
    order = present[np.argsort(-retained[present].astype(np.int64), kind="stable")]
    rows = [
        HeapTypeRow(
            snapshot.types[type_].name, int(count[type_]), int(shallow[type_]),
            int(retained[type_]), snapshot.types[type_].is_own,
        )
        for type_ in order[:top].tolist()
    ]  # fmt: skip
    return HeapTypes(
        objects=int(count.sum()),
        bytes=int(shallow.sum()),
        unreachable_objects=int((~reachable).sum()),
        unreachable_bytes=int(snapshot.size[~reachable].sum()),
        estimated_sizes=snapshot.estimated_sizes,
        rows=rows,
        left=len(order) - len(rows),
    )
