"""Who calls whom over many recordings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.fleet.queries.contexts import contexts_of
from sonde.fleet.store.hashes import NONE
from sonde.model.calls.call_windows import interval
from sonde.views.calls.call_edge import CallEdge
from sonde.views.calls.calls import BY, Calls
from sonde.views.calls.inlining_advice import advise

if TYPE_CHECKING:
    from sonde.fleet.queries.contexts import Contexts
    from sonde.fleet.queries.query import StoreQuery
    from sonde.views.selecting.profile import Function

EDGE = ("caller", "line", "callee")
DIGITS = 12


def calls(asked: StoreQuery, *, by: str = "edge", top: int | None = None) -> Calls:
    """The same as the view of one recording; weights may differ in their last digits."""
    if by not in BY:
        raise UsageError(f"invalid --by {by!r}; valid values for calls: {', '.join(BY)}")
    windows = asked.windows
    seen = windows.aggregate(windows=windows.count(), cut=windows.cut.cast("int64").sum())
    counted = seen.to_pyarrow().to_pylist()[0]
    graph = _Graph(asked)
    at_sites = graph.edges((*EDGE, "site"))
    edges = graph.edges(EDGE if by == "edge" else (*EDGE, "context"))
    started = asked.recordings.base_ns.min().to_pyarrow().as_py()
    return Calls(
        by=by,
        windows=counted["windows"],
        cut=counted["cut"] or 0,
        count=sum(edge.count for edge in edges),
        functions=len({edge.callee for edge in edges}),
        edges=edges[:top],
        left=len(edges) - len(edges[:top]),
        advice=advise(at_sites, _sizes(asked, graph.contexts), started / 1e9 if started else None),
    )


class _Graph:
    def __init__(self, asked: StoreQuery) -> None:
        self.contexts = contexts_of(asked)
        calls = asked.calls
        contexts = asked.contexts
        callees = contexts.select("context", "parent", callee="function")
        callers = contexts.select(above="context", caller="function", line="line")
        placed = calls.left_join(callees, "context").drop("context_right")
        self.placed = placed.left_join(callers, placed.parent == callers.above).mutate(
            callee=lambda t: t.callee.fill_null(NONE),
            caller=lambda t: t.caller.fill_null(NONE),
            line=lambda t: t.line.fill_null(0),
        )
        self.by_window = calls.group_by("window").aggregate(whole=calls.weight.sum())
        whole = self.by_window.whole
        sums = self.by_window.aggregate(total=whole.sum(), squares=(whole * whole).sum())
        summed = sums.to_pyarrow().to_pylist()[0]
        self.total, self.squares = summed["total"] or 0.0, summed["squares"] or 0.0

    def edges(self, keys: tuple[str, ...]) -> list[CallEdge]:
        """Calls that have these in common, the heaviest first."""
        placed = self.placed
        in_window = placed.group_by([*keys, "window"]).aggregate(
            ns=placed.weight.sum(), number=placed.count()
        )
        joined = in_window.join(self.by_window, "window")
        rows = (
            joined.group_by(list(keys))
            .aggregate(
                spent=joined.ns.sum(),
                number=joined.number.sum(),
                squares=(joined.ns * joined.ns).sum(),
                products=(joined.ns * joined.whole).sum(),
            )
            .to_pyarrow()
            .to_pylist()
        )
        edges = [self._edge(row) for row in rows]
        edges.sort(key=lambda edge: (-edge.weight, edge.caller or (), edge.site_line, edge.callee))
        return edges

    def _edge(self, row: dict[str, Any]) -> CallEdge:
        total = self.total or 1.0
        share = row["spent"] / total
        # As standard_errors has it for one recording, from sums.
        spread = row["squares"] - 2 * share * row["products"] + share * share * self.squares
        error = math.sqrt(max(spread, 0.0)) / total
        effective = total * total / self.squares if self.squares else 0.0
        return CallEdge(
            caller=None if row["caller"] == NONE else self._function(row["caller"]),
            site_line=row["line"],
            callee=self._function(row["callee"]),
            # Engines add up in different orders: without the last digits they agree on equals.
            weight=round(share, DIGITS),
            count=row["number"],
            error=round(error, DIGITS),
            interval=interval(share, error, effective),
            chain=self.contexts.chain(row["context"]) if "context" in row else None,
            instruction=row.get("site", 0),
        )

    def _function(self, hash_: int) -> Function:
        """What has none is of the function that stands for what cannot be decoded."""
        functions = self.contexts.functions
        return functions.all[int(functions.numbers(np.array([hash_]))[0])]


def _sizes(asked: StoreQuery, contexts: Contexts) -> dict[Function, int]:
    """How many instructions functions have, where that is known."""
    table = asked.functions
    known = table.filter(table.instructions.notnull()).select("function", "instructions")
    functions = contexts.functions
    return {
        functions.all[int(functions.numbers(np.array([row["function"]]))[0])]: row["instructions"]
        for row in known.to_pyarrow().to_pylist()
    }
