"""Which objects keep the most alive, and what of it is in what?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.heap.graph import NO_OBJECT
from sonde.views.heap.object_text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.graph import HeapGraph

MIN_SHARE = 0.005
"""Of the heap; what is smaller is shown with the others of its type."""
MAX_CHILDREN = 20
MAX_DEPTH = 12


@dataclass(frozen=True)
class DominatorRow:
    """One object; or several of a type, of which none is large."""

    type: str
    text: str | None
    id: int | None
    """None: several."""
    count: int
    shallow: int
    retained: int
    children: list[DominatorRow] = field(default_factory=list)
    """What is dominated by this object and no other one in between."""

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "text": self.text,
            "id": self.id,
            "count": self.count,
            "shallow": self.shallow,
            "retained": self.retained,
            "children": [child.to_json() for child in self.children],
        }


@dataclass(frozen=True)
class Dominators:
    objects: int
    bytes: int
    rows: list[DominatorRow]

    def to_json(self) -> dict[str, Any]:
        return {
            "objects": self.objects,
            "bytes": self.bytes,
            "rows": [row.to_json() for row in self.rows],
        }


def dominators(
    graph: HeapGraph, *, top: int | None = None, min_share: float = MIN_SHARE
) -> Dominators:
    reachable = graph.reachable
    total = int(graph.snapshot.size[reachable].sum())
    rows = DominatorTree(graph).rows(None, top=top, min_share=min_share)
    return Dominators(int(reachable.sum()), total, rows)


class DominatorTree:
    """What is below each object; made once for many questions."""

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph
        dominator = graph.dominators.dominator
        self._order = np.argsort(dominator, kind="stable").astype(np.uint32)
        self._sorted = dominator[self._order]

    def rows(
        self, number: int | None, *, top: int | None = None, min_share: float = MIN_SHARE
    ) -> list[DominatorRow]:
        """Below an object, or of the whole heap; shares are of what it retains."""
        graph = self._graph
        if number is None:
            whole = int(graph.snapshot.size[graph.reachable].sum())
        else:
            whole = int(graph.retained[number])
        least = max(int(whole * min_share), 1)
        below = _Below(graph, self._order, self._sorted, least, top or MAX_CHILDREN)
        return below.below(NO_OBJECT if number is None else number, 0)


@dataclass(frozen=True)
class _Below:
    _graph: HeapGraph
    _order: NDArray[np.uint32]
    _sorted: NDArray[np.uint32]
    _least: int
    _children: int

    def below(self, number: int, depth: int) -> list[DominatorRow]:
        # A value of the same type: any other would have the whole column converted.
        key = np.uint32(number)
        begin = np.searchsorted(self._sorted, key, "left")
        end = np.searchsorted(self._sorted, key, "right")
        children = self._order[begin:end]
        if not len(children):
            return []
        graph, snapshot = self._graph, self._graph.snapshot
        retained = graph.retained[children]
        large = np.flatnonzero(retained >= self._least)
        large = large[np.argsort(-retained[large].astype(np.int64), kind="stable")]
        rows = [
            DominatorRow(
                snapshot.type_of(child).name, text_of(snapshot, child),
                int(snapshot.id[child]), 1, int(snapshot.size[child]), int(graph.retained[child]),
                self.below(child, depth + 1) if depth < MAX_DEPTH else [],
            )
            for child in children[large[: self._children]].tolist()
        ]  # fmt: skip
        rest = np.ones(len(children), bool)
        rest[large[: self._children]] = False
        rows += self._by_type(children[rest])
        rows.sort(key=lambda row: -row.retained)
        return rows

    def _by_type(self, numbers: NDArray[np.uint32]) -> list[DominatorRow]:
        """As far as those of a type are large together."""
        graph, snapshot = self._graph, self._graph.snapshot
        types, which, count = np.unique(
            snapshot.type[numbers], return_inverse=True, return_counts=True
        )
        retained = np.bincount(which, weights=graph.retained[numbers], minlength=len(types))
        shallow = np.bincount(which, weights=snapshot.size[numbers], minlength=len(types))
        large = np.flatnonzero(retained >= self._least)
        large = large[np.argsort(-retained[large], kind="stable")][: self._children]
        return [
            DominatorRow(
                snapshot.types[int(types[i])].name, None, None, int(count[i]), int(shallow[i]),
                int(retained[i]),
            )
            for i in large.tolist()
        ]  # fmt: skip
