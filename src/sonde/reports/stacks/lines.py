"""The lines view as a table, with the source where it can still be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import clipped, place, printable
from sonde.reports.layout.page import line
from sonde.views.selecting import sources
from sonde.views.selecting.formatting import count, measured, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.stacks.lines import Lines

TOP = 20
"""Rows shown by default."""

_NUMBERS = 9 + 8 + 10 + 2


def render(
    result: Lines, out: Console, *, top: int | None = None, recorded: float | None = None
) -> None:
    """`recorded` is the time (since the epoch) the recording began: later source is not shown."""
    shown = result.rows[: top or TOP]
    places = [place(row.file, row.line, (out.width - _NUMBERS) // 2) for row in shown]
    room = max((len(text) for text in places), default=0)
    source = Sources(recorded)
    line(out, (f"{'self':>9}{'':8}{'total':>10}  {'line':<{room}}  source", "bold"))
    for row, where in zip(shown, places, strict=True):
        share = percent(row.self_ns / result.total_ns, 1) if result.total_ns else ""
        line(
            out,
            f"{measured(row.self_ns, result.unit):>9}",
            (f"{share:>8}", "cyan"),
            f"{measured(row.total_ns, result.unit):>10}  {where:<{room}}  ",
            (clipped(source.line(row.file, row.line), out.width - _NUMBERS - room - 2), "dim"),
        )
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more line')}", "dim"))


class Sources(sources.Sources):
    """Lines that are safe to print."""

    def line(self, file: str, number: int) -> str:
        return printable(super().line(file, number))
