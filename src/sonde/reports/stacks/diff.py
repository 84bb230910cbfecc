"""Two recordings compared, as a few sentences and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import TIMES, brief, count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.model.choice import Time
    from sonde.model.trees.overlap import Likeness
    from sonde.views.stacks.diff import Diff, DiffRow

TOP = 20
"""Rows shown by default."""
MANY_TIMES = 10
"""From here on a factor is easier to read than a percentage."""

_NUMBERS = 10 + 10 + 10 + 2


def render(result: Diff, out: Console, *, time: Time, top: int | None = None) -> None:
    if not result.base_ns and not result.new_ns:
        line(out, f"No {TIMES[time]} time in either recording.")
        return
    paragraph(out, _times(result, time))
    paragraph(out, likeness(result.alike, "calling contexts"))
    line(out)
    line(out, (f"{'change':>10}{'base':>10}{'new':>10}  function", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        function = row.function
        line(
            out,
            (f"{_change(row):>10}", "red" if row.delta_ns > 0 else "blue"),
            f"{_spent(row.base_ns):>10}",
            f"{_spent(row.new_ns):>10}",
            "  ",
            labelled(function.name, function.file, function.line, out.width - _NUMBERS),
        )
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more function')}", "dim"))


def _times(result: Diff, time: Time) -> str:
    said = f"{duration(result.base_ns)} of {TIMES[time]} time before, {duration(result.new_ns)} now"
    if not result.base_ns or not result.new_ns:
        return f"{said}."
    if result.new_ns >= MANY_TIMES * result.base_ns:
        return f"{said}: {result.new_ns / result.base_ns:,.0f} times as much."
    change = result.new_ns / result.base_ns - 1
    if not round(change, 3):
        return f"{said}: unchanged."
    return f"{said}: {percent(abs(change), 1)} {'more' if change > 0 else 'less'}."


def likeness(alike: Likeness, what: str) -> str:
    if alike.overlap is None or alike.base_by_new is None or alike.new_by_base is None:
        return "One of the recordings is empty, so there is nothing to compare."
    return (
        f"The {what} overlap by {percent(alike.overlap, 1)}: {percent(alike.base_by_new)} of those "
        f"hot before are hot now, and {percent(alike.new_by_base)} of those hot now were hot "
        f"before.{_correlation(alike)}"
    )


def _correlation(alike: Likeness) -> str:
    if alike.correlation is None:
        return ""
    return f" The correlation is {alike.correlation:.2f}."


def _change(row: DiffRow) -> str:
    return f"{'+' if row.delta_ns > 0 else ''}{brief(row.delta_ns)}"


def _spent(ns: int) -> str:
    return brief(ns) if ns else "–"
