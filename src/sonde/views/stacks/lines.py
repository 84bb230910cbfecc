"""Which source lines does the time go to?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import sums
from sonde.row_values import BUILT_IN
from sonde.views.selecting.own_code import OUTSIDE, is_own, of_own_code
from sonde.views.selecting.profile import Profile, profile

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(slots=True)
class LineRow:
    """A line; `total_ns` counts a line that is on a stack more than once only once."""

    file: str
    line: int
    self_ns: int
    total_ns: int

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "self": self.self_ns,
            "total": self.total_ns,
        }


@dataclass(frozen=True)
class Lines:
    """Lines by own time, descending; `total_ns` is all time counted, also that of no line."""

    total_ns: int
    rows: list[LineRow]
    unit: str = "ns"
    """Nanoseconds, or the name of the event that is counted instead."""

    def to_json(self) -> dict[str, Any]:
        return {"unit": self.unit, "rows": [row.to_json() for row in self.rows]}


def lines(
    recording: Recording,
    selection: Selection | None = None,
    *,
    top: int | None = None,
    mine: bool = False,
) -> Lines:
    """Own and total time of every line seen.

    A built-in function has no lines, so its time is the calling line's own. `mine`: so is that of
    the libraries, and all lines are of the program's own code.
    """
    found = profile(recording, selection)
    if not mine:
        return lines_of(found, top)
    own = is_own(recording, found.functions)
    found = of_own_code(found, own)
    outside = found.function[found.tree.nearest(found.tree.parent < 0)] == len(own)
    result = lines_of(found, None, [*own, False])
    spent = int(found.own[outside].sum())
    if spent:
        result.rows.append(LineRow(OUTSIDE.name, 0, spent, spent))
        result.rows.sort(key=lambda row: -row.self_ns)
    return replace(result, rows=result.rows[:top])


def lines_of(found: Profile, top: int | None = None, listed: list[bool] | None = None) -> Lines:
    """The same of a profile that keeps lines apart; `listed` is by function whether its lines are
    looked at, all that have some unless given."""
    tree = found.tree
    total = tree.totals(found.own)
    if listed is None:
        listed = [f.file != BUILT_IN and not f.stands_in for f in found.functions]
    has_lines = found.functions_where(listed)
    bearer = tree.nearest(has_lines)
    borne = bearer >= 0
    own = sums(bearer[borne], found.own[borne], len(tree))

    numbers: dict[str, int] = {}
    file = np.array([numbers.setdefault(f.file, len(numbers)) for f in found.functions])
    files = list(numbers)
    span = int(found.line.max()) + 1 if len(tree) else 1
    key = file[found.function] * span + found.line
    # Built-in frames take no part: each gets a key of its own, above all keys of lines.
    apart = len(files) * span + np.arange(len(tree))
    counted = has_lines & tree.outermost(np.where(has_lines, key, apart))

    places, inverse = np.unique(key[has_lines], return_inverse=True)
    place = np.zeros(len(tree), dtype=np.int64)
    place[has_lines] = inverse
    own_by_place = sums(place[has_lines], own[has_lines], len(places))
    total_by_place = sums(place[counted], total[counted], len(places))
    order = np.lexsort((places, -total_by_place, -own_by_place))[:top]
    rows = [
        LineRow(files[where // span], where % span, self_ns, total_ns)
        for where, self_ns, total_ns in zip(
            places[order].tolist(),
            own_by_place[order].tolist(),
            total_by_place[order].tolist(),
            strict=True,
        )
    ]
    return Lines(found.total, rows, found.unit)
