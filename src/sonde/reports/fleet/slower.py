"""What became slower between two groups of processes, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.slower import Slower

TOP = 20
_NUMBERS = 9 + 9 + 9 + 10 + 2


def render(result: Slower, out: Console, *, top: int | None = None) -> None:
    certain = [row for row in result.rows if row.significant]
    groups = (
        f"{count(result.base_processes, 'process', 'processes')} before, {result.new_processes} now"
    )
    if all(row.p is None for row in result.rows):
        paragraph(out, f"{groups}: too few to test for significance.")
    else:
        paragraph(
            out,
            f"{groups}; {count(len(certain), 'function')} changed significantly.",
        )
    line(out)
    line(out, (f"{'change':>9}{'before':>9}{'now':>9}{'p':>10}  function", "bold"))
    for row in result.rows[: top or TOP]:
        function = row.function
        line(
            out,
            (f"{row.delta * 100:>+7.2f} %", "red" if row.delta > 0 else "blue"),
            f"{percent(row.base.mean, 1):>9}",
            f"{percent(row.new.mean, 1):>9}",
            (f"{_chance(row.adjusted):>10}", "bold" if row.significant else "dim"),
            "  ",
            labelled(function["name"], function["file"], function["line"], out.width - _NUMBERS),
        )


def _chance(p: float | None) -> str:
    if p is None:
        return "?"
    return "< 0.1 %" if p < 0.001 else f"{p * 100:.1f} %"
