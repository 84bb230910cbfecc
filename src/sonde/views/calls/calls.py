"""Who calls whom, how often, and from where?

Calls are counted in windows; what a counted call stands for is the model's to say. Weights are
shares of all calls, and add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.calls.call_kinds import Counted, Windows, ticks_of, weights_of_kinds
from sonde.model.calls.call_windows import Floats, effective_windows, interval, standard_errors
from sonde.row_values import BUILT_IN
from sonde.views.calls.call_edge import CallEdge
from sonde.views.calls.inlining_advice import Advice, advise
from sonde.views.locks.contentions import Chains, chains_of
from sonde.views.selecting.profile import UNDECODABLE, Function, identities
from sonde.views.selecting.selection import Selection, threads_of

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

BY = ("edge", "context")


@dataclass(frozen=True)
class Calls:
    """Edges by weight, descending."""

    by: str
    windows: int
    cut: int
    """Windows that ended before they had their calls."""
    count: int
    functions: int
    """How many different ones were called."""
    edges: list[CallEdge]
    left: int
    """Edges that are not here."""
    advice: Advice

    def to_json(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "windows": self.windows,
            "windows_cut": self.cut,
            "count": self.count,
            "edges": [edge.to_json() for edge in self.edges],
            "advice": self.advice.to_json(),
        }


def calls(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: str = "edge",
    top: int | None = None,
) -> Calls:
    if by not in BY:
        raise UsageError(invalid("--by", by, BY, "values for calls"))
    kept, rows, weight = picked(recording, selection or Selection())
    table = recording.calls
    window = table.window[rows].astype(np.int64)
    chains = chains_of(recording)
    graph = _Graph(chains, chains.node[table.context[rows]], table.site[rows].astype(np.int64))
    key, by_chain = (graph.edge, None) if by == "edge" else (graph.node, chains)
    edges = _grouped(graph, key, window, weight, by_chain)
    at_sites = _grouped(graph, graph.site_edge, window, weight, None)
    cut = recording.windows.cut[kept] != 0
    return Calls(
        by=by,
        windows=len(kept),
        cut=int(cut.sum()),
        count=len(rows),
        functions=len(np.unique(graph.callee)),
        edges=edges[:top],
        left=len(edges) - len(edges[:top]),
        advice=advise(at_sites, sizes_of(recording), recording.target.get("started")),
    )


class _Graph:
    """The ends of each counted call."""

    def __init__(self, chains: Chains, node: Ints, site: Ints) -> None:
        self.functions = chains.functions
        undecodable = chains.functions.index(UNDECODABLE)
        function = np.append(chains.function, undecodable)
        line = np.append(chains.line, 0)
        above = np.append(chains.tree.parent, -1)[node]
        self.node = node
        self.callee = function[node]
        self.caller = np.where(above >= 0, function[above], -1)
        self.line = np.where(above >= 0, line[above], 0)
        self.site = site
        self.edge = _numbered(self.caller, self.line, self.callee)
        self.site_edge = _numbered(self.edge, site)


def _numbered(*columns: Ints) -> Ints:
    """The same number for rows that are alike."""
    _, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.asarray(number).reshape(-1)


def picked(recording: Recording, selection: Selection) -> tuple[Ints, Ints, Floats]:
    """The windows that are meant, the calls counted in them, and what these weigh."""
    if selection.span is not None:
        raise UsageError("calls cannot be selected by span; use --from and --to")
    windows, table = recording.windows, recording.calls
    known = (table.window >= 0) & (table.window < len(windows))
    rows = np.flatnonzero(known)
    weights = weights_of_kinds(
        Windows(
            duration=windows.duration_ns,
            stride=windows.stride.astype(np.int64),
            cut=windows.cut != 0,
            all_seen=windows.native != 0,
            ticks=ticks_of(windows.thread.astype(np.int64), windows.time, windows.native != 0),
        ),
        _counted(recording, rows),
    )
    keep = np.ones(len(windows), dtype=bool)
    if selection.thread is not None or selection.process is not None:
        keep &= threads_of(recording, selection)[windows.thread]
    if selection.start_ns is not None:
        keep &= windows.time >= selection.start_ns
    if selection.end_ns is not None:
        keep &= windows.time < selection.end_ns
    meant = keep[table.window[rows]]
    return np.flatnonzero(keep), rows[meant], weights[meant]


def _counted(recording: Recording, rows: Ints) -> Counted:
    table, contexts = recording.calls, recording.contexts
    built_in = np.array([file == BUILT_IN for file in recording.functions.file] + [False])
    function = contexts.function.astype(np.int64)
    known = (function >= 0) & (function < len(recording.functions))
    # Last, that of the context nobody knows.
    function = np.append(np.where(known, function, -1), -1)
    above = np.append(contexts.parent.astype(np.int64), -1)
    called = table.context[rows]
    return Counted(
        window=table.window[rows].astype(np.int64),
        offset=table.offset_ns[rows],
        caller=function[above[called]],
        callee=function[called],
        native=built_in[function[called]],
        step=table.step[rows].astype(np.int64),
    )


def _grouped(
    graph: _Graph, key: Ints, window: Ints, weight: Floats, chains: Chains | None
) -> list[CallEdge]:
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    if not len(first):
        return []
    total = float(weight.sum()) or 1.0
    shares = np.bincount(group, weight, len(first)) / total
    counts = np.bincount(group, minlength=len(first))
    _, dense = np.unique(window, return_inverse=True)
    errors = standard_errors(group, len(first), dense, int(dense.max()) + 1, weight)
    effective = effective_windows(dense, int(dense.max()) + 1, weight)
    order = np.lexsort((first, -shares))
    functions = graph.functions
    return [
        CallEdge(
            caller=functions[graph.caller[first[i]]] if graph.caller[first[i]] >= 0 else None,
            site_line=int(graph.line[first[i]]),
            callee=functions[graph.callee[first[i]]],
            weight=float(shares[i]),
            count=int(counts[i]),
            error=float(errors[i]),
            interval=interval(float(shares[i]), float(errors[i]), effective),
            chain=None if chains is None else chains.to_json(int(graph.node[first[i]])),
            instruction=int(graph.site[first[i]]),
        )
        for i in order.tolist()
    ]


def sizes_of(recording: Recording) -> dict[Function, int]:
    """How many instructions functions have, where that is known."""
    table = recording.sizes
    functions, identity = identities(recording)
    found: dict[Function, int] = {}
    for row, size in zip(table.function.tolist(), table.instructions.tolist(), strict=True):
        if row >= 0:
            function = functions[identity[row]]
            found[function] = max(size, found.get(function, 0))
    return found
