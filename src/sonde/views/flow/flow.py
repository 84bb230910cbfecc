"""What happened in each calling context, exactly: calls, their metric, exceptions.

What recording took is out of the numbers of a calibrated recording. How good that is, is stated
with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import Ints, sums
from sonde.views.flow.flow_error import FlowError, flow_error
from sonde.views.flow.flow_tree import FlowTree, flow_tree, metric_of
from sonde.views.selecting.selection import Selection

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function

UNITS = {
    "cpu": "cpu_ns",
    "wall": "wall_ns",
    "instructions": "instructions",
    "page-faults": "page_faults",
    "context-switches": "context_switches",
}
"""What JSON calls the metrics."""


@dataclass(frozen=True)
class Numbers:
    """Of a calling context, or of a function."""

    calls: int
    """Entries; a generator that is resumed is not entered again."""
    base: int
    """The metric of the function itself."""
    total: int
    """With what it called."""
    callees: int
    """Calls that it made."""
    recursion: int
    """Calls of `calls` that were made while the function ran already."""
    exceptions: int
    """Exits by an exception."""
    resumptions: int
    preexisting: int
    """Calls that were under way when recording began; not in `calls`."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class FlowNode:
    id: int
    parent: int | None
    function: Function
    numbers: Numbers

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "parent": self.parent} | _named(self.function, self.numbers)


@dataclass(frozen=True)
class FlowRow:
    """A function, whoever called it."""

    function: Function
    numbers: Numbers

    def to_json(self) -> dict[str, Any]:
        return _named(self.function, self.numbers)


@dataclass(frozen=True)
class Flow:
    """Nodes come after their parents; rows by their own part of the metric, descending."""

    metric: str
    calibrated: bool
    error: FlowError
    total: int
    nodes: list[FlowNode]
    rows: list[FlowRow]
    flat: bool
    lost_calls: int
    left: int
    """Rows or nodes that are not here."""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "metric": UNITS[self.metric],
            "calibrated": self.calibrated,
            "error": self.error.to_json(),
            "total": self.total,
            "lost_calls": self.lost_calls,
        }
        if self.flat:
            return found | {"rows": [row.to_json() for row in self.rows]}
        return found | {"nodes": [node.to_json() for node in self.nodes]}


def _named(function: Function, numbers: Numbers) -> dict[str, Any]:
    named = {"name": function.name, "file": function.file, "line": function.line}
    return named | numbers.to_json()


def flow(
    recording: Recording,
    selection: Selection | None = None,
    *,
    flat: bool = False,
    top: int | None = None,
) -> Flow:
    """`top`: so many rows; of a tree, the nodes of the largest totals with those above them."""
    selection = selection or Selection()
    found = flow_tree(recording, selection)
    runs = recording.flow_runs
    nodes = _nodes(found)
    rows = flow_rows(found)
    total = int(found.base.sum())
    kept = nodes if top is None else _largest(nodes, top)
    return Flow(
        metric=metric_of(recording),
        calibrated=bool(len(runs) and runs.calibrated.all()),
        error=flow_error(recording, selection, found),
        total=total,
        nodes=kept,
        rows=rows[:top],
        flat=flat,
        lost_calls=int(runs.lost_calls.sum()),
        left=len(rows) - len(rows[:top]) if flat else len(nodes) - len(kept),
    )


def _made(found: FlowTree) -> Ints:
    """Calls that each node made."""
    parent = found.tree.parent
    made = np.zeros(len(parent), dtype=np.int64)
    np.add.at(made, parent[parent >= 0], found.calls[parent >= 0])
    return made


def _nodes(found: FlowTree) -> list[FlowNode]:
    total = found.tree.totals(found.base)
    inner = ~found.tree.outermost(found.function)
    made = _made(found)
    return [
        FlowNode(
            id=node,
            parent=None if parent < 0 else parent,
            function=found.functions[function],
            numbers=Numbers(
                int(found.calls[node]),
                int(found.base[node]),
                int(total[node]),
                int(made[node]),
                int(found.calls[node]) if inner[node] else 0,
                int(found.exceptions[node]),
                int(found.resumptions[node]),
                int(found.preexisting[node]),
            ),
        )
        for node, (parent, function) in enumerate(
            zip(found.tree.parent.tolist(), found.function.tolist(), strict=True)
        )
    ]


def _largest(nodes: list[FlowNode], top: int) -> list[FlowNode]:
    """Numbered again; a parent's total is at least its child's, so no path has a gap."""
    by_total = sorted(nodes, key=lambda node: (-node.numbers.total, node.id))[:top]
    places = {node.id: place for place, node in enumerate(sorted(by_total, key=lambda n: n.id))}
    return [
        FlowNode(
            places[node.id],
            None if node.parent is None else places[node.parent],
            node.function,
            node.numbers,
        )
        for node in sorted(by_total, key=lambda node: node.id)
    ]


def flow_rows(found: FlowTree) -> list[FlowRow]:
    """Functions; what a recursive one called counts once in its total."""
    size = len(found.functions)
    total = found.tree.totals(found.base)
    outer = found.tree.outermost(found.function)
    columns = (
        found.calls, found.base, np.where(outer, total, 0), _made(found),
        np.where(outer, 0, found.calls), found.exceptions, found.resumptions, found.preexisting,
    )  # fmt: skip
    by_function = [sums(found.function, column, size).tolist() for column in columns]
    seen = np.unique(found.function).tolist()
    rows = [
        FlowRow(found.functions[function], Numbers(*(column[function] for column in by_function)))
        for function in seen
    ]
    rows.sort(key=lambda row: (-row.numbers.base, row.function))
    return rows
