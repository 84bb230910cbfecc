"""The flat view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import count, measured, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.stacks.flat import Flat, FlatRow

TOP = 20
"""Rows shown by default."""

_NUMBERS = 9 + 8 + 10 + 8 + 2


def render(result: Flat, out: Console, *, top: int | None = None) -> None:
    shown = result.rows[: top or TOP]
    table(shown, result.total_ns, out, unit=result.unit)
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more function')}", "dim"))


def table(
    rows: list[FlatRow], total_ns: int, out: Console, *, indent: int = 0, unit: str = "ns"
) -> None:
    """Functions with their own and total time."""
    pad = " " * indent
    line(out, (f"{pad}{'self':>9}{'':8}{'total':>10}{'':8}  function", "bold"))
    for row in rows:
        function = row.function
        line(
            out,
            pad,
            f"{measured(row.self_ns, unit):>9}",
            (f"{percent(row.self_ns / total_ns, 1) if total_ns else '':>8}", "cyan"),
            f"{measured(row.total_ns, unit):>10}",
            (f"{percent(row.total_ns / total_ns, 1) if total_ns else '':>8}", "cyan"),
            "  ",
            labelled(function.name, function.file, function.line, out.width - indent - _NUMBERS),
        )
