"""What functions took in two recordings of the call flow, and which of them grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError
from sonde.views.flow.flow import UNITS, FlowRow, flow
from sonde.views.flow.flow_tree import metric_of

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.selection import Selection


@dataclass(frozen=True)
class FlowChange:
    """A function; its line is that of the newer recording."""

    function: Function
    base: int
    """Its own part of the metric, in BASE."""
    new: int
    base_calls: int
    new_calls: int
    grew: bool

    @property
    def delta(self) -> int:
        return self.new - self.base

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.function.name,
            "file": self.function.file,
            "line": self.function.line,
            "base": self.base,
            "new": self.new,
            "delta": self.delta,
            "base_calls": self.base_calls,
            "new_calls": self.new_calls,
            "grew": self.grew,
        }


@dataclass(frozen=True)
class FlowDiff:
    """Functions that differ, by the size of the change."""

    metric: str
    base: int
    new: int
    rows: list[FlowChange]
    left: int
    grew: int
    """Functions that grew by more than the limit; 0 if there is none."""

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": UNITS[self.metric],
            "base": self.base,
            "new": self.new,
            "grew": self.grew,
            "rows": [row.to_json() for row in self.rows],
        }


def flow_diff(
    base: Recording,
    new: Recording,
    selection: Selection,
    *,
    limit: float | None = None,
    top: int | None = None,
) -> FlowDiff:
    """`limit`: the growth of a function's own part that is allowed, 0.05 for 5 %. A function that
    BASE has not may take so much of the whole."""
    metric = metric_of(new)
    for recording in (base, new):
        if not len(recording.flow_runs):
            raise SondeError(
                f"{recording.path} has no call flow; record it with: sonde run --what flow"
            )
    if metric_of(base) != metric:
        raise SondeError(
            f"{base.path} measures {metric_of(base)} and {new.path} {metric}; record both with "
            "the same --flow-metric"
        )
    before, after = flow(base, selection), flow(new, selection)
    rows = _changes(before.rows, after.rows, limit, before.total)
    return FlowDiff(
        metric,
        before.total,
        after.total,
        rows[:top],
        len(rows) - len(rows[:top]),
        sum(row.grew for row in rows),
    )


def _changes(
    before: list[FlowRow], after: list[FlowRow], limit: float | None, whole: int
) -> list[FlowChange]:
    """Functions are the same by name and file; several of one name by their order."""
    old, new = _by_key(before), _by_key(after)
    found = []
    for key in old.keys() | new.keys():
        was, now = old.get(key), new.get(key)
        some = now or was
        assert some is not None
        base, grown = (row.numbers.base if row else 0 for row in (was, now))
        allowed = (base * (1 + limit) if was else whole * limit) if limit is not None else None
        change = FlowChange(
            some.function,
            base,
            grown,
            was.numbers.calls if was else 0,
            now.numbers.calls if now else 0,
            allowed is not None and grown > allowed,
        )
        if change.delta or change.base_calls != change.new_calls:
            found.append(change)
    found.sort(key=lambda row: (not row.grew, -abs(row.delta), row.function))
    return found


def _by_key(rows: list[FlowRow]) -> dict[tuple[str, str, int], FlowRow]:
    keyed: dict[tuple[str, str, int], FlowRow] = {}
    for row in sorted(rows, key=lambda row: row.function):
        number = 0
        while (key := (row.function.name, row.function.file, number)) in keyed:
            number += 1
        keyed[key] = row
    return keyed
