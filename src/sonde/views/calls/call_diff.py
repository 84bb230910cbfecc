"""What is called more and what less between two recordings of calls, and how alike they are.

Shares are compared, not numbers: how many calls there were in all is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.model.trees.overlap import Likeness
from sonde.views.calls.call_edge import CallEdge
from sonde.views.calls.calls import calls
from sonde.views.stacks.function_match import same_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.selection import Selection

_PARTS = 10**12
"""Shares are counted in so many parts of all calls."""


@dataclass(frozen=True)
class CallDiffRow:
    """Calls of one function from one line of another, with their share of all in both."""

    caller: Function | None
    site_line: int
    callee: Function
    base: float
    new: float
    error: float
    """The standard error of the difference."""

    @property
    def delta(self) -> float:
        return self.new - self.base

    def to_json(self) -> dict[str, Any]:
        return {
            "caller": self.caller.to_json() if self.caller else None,
            "site_line": self.site_line,
            "callee": self.callee.to_json(),
            "base": self.base,
            "new": self.new,
            "delta": self.delta,
            "error": self.error,
        }


@dataclass(frozen=True)
class CallDiff:
    """Edges by how much their share has changed, descending."""

    base_count: int
    new_count: int
    alike: Likeness
    rows: list[CallDiffRow]

    def to_json(self) -> dict[str, Any]:
        return {**self.alike.to_json(), "rows": [row.to_json() for row in self.rows]}


class _Key(NamedTuple):
    caller: int
    line: int
    """Of the call, from the first of the caller on: that stays if the function is moved."""
    callee: int


def call_diff(
    base: Recording,
    new: Recording,
    selection: Selection | None = None,
    new_selection: Selection | None = None,
    *,
    top: int | None = None,
) -> CallDiff:
    before, after = calls(base, selection), calls(new, new_selection or selection)
    of_base, of_new = _functions(before.edges), _functions(after.edges)
    same = same_functions(of_base, of_new)
    sides = (
        _keyed(before.edges, of_base, same.of_base.tolist()),
        _keyed(after.edges, of_new, same.of_new.tolist()),
    )
    # An edge that the new recording has is shown by its lines there.
    union = [*sides[1], *(key for key in sides[0] if key not in sides[1])]
    rows = [_row(sides[0].get(key), sides[1].get(key)) for key in union]
    weights = [
        np.array([round(_PARTS * share) for share in shares], dtype=np.int64)
        for shares in ([row.base for row in rows], [row.new for row in rows])
    ]
    rows.sort(key=lambda row: (-abs(row.delta), -row.base - row.new))
    return CallDiff(
        base_count=before.count,
        new_count=after.count,
        alike=Likeness.of(*weights),
        rows=rows[:top],
    )


def _functions(edges: Sequence[CallEdge]) -> list[Function]:
    both = (f for edge in edges for f in (edge.caller, edge.callee) if f is not None)
    return list(dict.fromkeys(both))


def _keyed(
    edges: Sequence[CallEdge], functions: list[Function], number: list[int]
) -> dict[_Key, CallEdge]:
    place = {function: number[i] for i, function in enumerate(functions)}
    return {
        _Key(
            -1 if edge.caller is None else place[edge.caller],
            0 if edge.caller is None else edge.site_line - edge.caller.line,
            place[edge.callee],
        ): edge
        for edge in edges
    }


def _row(base: CallEdge | None, new: CallEdge | None) -> CallDiffRow:
    edge = new or base
    assert edge is not None
    errors = [edge.error for edge in (base, new) if edge is not None]
    return CallDiffRow(
        caller=edge.caller,
        site_line=edge.site_line,
        callee=edge.callee,
        base=base.weight if base else 0.0,
        new=new.weight if new else 0.0,
        error=sum(error**2 for error in errors) ** 0.5,
    )
