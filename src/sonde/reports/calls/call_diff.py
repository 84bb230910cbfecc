"""The calls of two recordings compared, as a few sentences and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.reports.stacks.diff import likeness
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.calls.call_diff import CallDiff

TOP = 20
"""Rows shown by default."""

_NUMBERS = 10 + 9 + 10 + 10 + 2


def render(result: CallDiff, out: Console, *, top: int | None = None) -> None:
    if not result.base_count and not result.new_count:
        line(out, "No calls were counted in either recording.")
        return
    paragraph(
        out,
        f"{count(result.base_count, 'call')} counted before, {result.new_count:,} now; "
        "the table compares their share of all calls.",
    )
    paragraph(out, likeness(result.alike, "calls"))
    line(out)
    line(out, (f"{'change':>10}{'±':>9}{'base':>10}{'new':>10}  callee / called from", "bold"))
    shown = result.rows[: top or TOP]
    width = out.width - _NUMBERS
    for row in shown:
        callee, caller = row.callee, row.caller
        line(
            out,
            (f"{100 * row.delta:>+8.1f} %", "red" if row.delta > 0 else "blue"),
            (f"{percent(2 * row.error, 1):>9}", "dim"),
            f"{percent(row.base, 1):>10}",
            f"{percent(row.new, 1):>10}",
            "  ",
            labelled(callee.name, callee.file, callee.line, width),
        )
        text = (
            labelled(caller.name, caller.file, row.site_line, width)
            if caller
            else "outside the program"
        )
        line(out, " " * _NUMBERS, (text, "dim"))
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more row')}", "dim"))
