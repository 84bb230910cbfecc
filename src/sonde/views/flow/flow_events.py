"""Every entry and exit, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import ContextTree
from sonde.row_values import (
    FLOW_ENTRY,
    FLOW_EXIT,
    FLOW_RESUME,
    FLOW_THROW,
    FLOW_UNWIND,
    FLOW_YIELD,
)
from sonde.views.flow.flow import UNITS
from sonde.views.flow.flow_tree import metric_of
from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, threads_of

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

KINDS = {
    FLOW_ENTRY: "entry",
    FLOW_EXIT: "exit",
    FLOW_YIELD: "yield",
    FLOW_RESUME: "resume",
    FLOW_THROW: "throw",
    FLOW_UNWIND: "unwind",
}


@dataclass(frozen=True)
class FlowEvent:
    time_ns: int
    tid: int
    kind: str
    depth: int
    function: Function
    measured: int
    """The metric since the thread's event before, with what recording took."""

    def to_json(self) -> dict[str, Any]:
        function = self.function
        return {
            "time_ns": self.time_ns,
            "tid": self.tid,
            "kind": self.kind,
            "depth": self.depth,
            "name": function.name,
            "file": function.file,
            "line": function.line,
            "measured": self.measured,
        }


@dataclass(frozen=True)
class FlowEventList:
    metric: str
    rows: list[FlowEvent]
    count: int
    lost: int

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": UNITS[self.metric],
            "count": self.count,
            "lost": self.lost,
            "rows": [row.to_json() for row in self.rows],
        }


def flow_events(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> FlowEventList:
    """The first `top` of them."""
    selection = selection or Selection()
    table, contexts = recording.flow_events, recording.contexts
    keep = threads_of(recording, selection)[table.thread] & (table.context >= 0)
    if selection.start_ns is not None:
        keep &= table.time >= selection.start_ns
    if selection.end_ns is not None:
        keep &= table.time < selection.end_ns
    rows = np.flatnonzero(keep)
    rows = rows[np.argsort(table.time[rows], kind="stable")]
    functions, identity = identities(recording)
    depth = ContextTree(contexts.parent).depth
    tid = recording.threads.tid
    found = [
        FlowEvent(
            int(table.time[row]),
            int(tid[table.thread[row]]),
            KINDS.get(int(table.kind[row]), "unknown"),
            int(depth[table.context[row]]),
            functions[identity[contexts.function[table.context[row]]]],
            int(table.measured[row]),
        )
        for row in rows[:top].tolist()
    ]
    lost = int(recording.flow_runs.lost_events.sum())
    return FlowEventList(metric_of(recording), found, len(rows), lost)
