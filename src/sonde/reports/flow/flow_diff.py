"""The changes of functions between two recordings of the call flow as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.row_values import FLOW_TIMES
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.flow.flow_diff import FlowDiff

TOP = 20
"""Functions shown by default."""

_NUMBERS = 13 + 13 + 13 + 9 + 11 + 2


def render(result: FlowDiff, out: Console, *, top: int | None = None) -> None:
    def shown(value: int) -> str:
        return f"{value:,}" if result.metric not in FLOW_TIMES else brief(value)

    what = (
        f"of {result.metric} time"
        if result.metric in FLOW_TIMES
        else result.metric.replace("-", " ")
    )
    paragraph(out, f"{shown(result.base)} → {shown(result.new)} {what}.")
    if not result.rows:
        line(out, "No function changed.")
        return
    line(out, (f"{'base':>13}{'new':>13}{'delta':>13}{'growth':>9}{'calls':>11}  function", "bold"))
    for row in result.rows[: top or TOP]:
        growth = percent(row.delta / row.base, 1) if row.base else "new"
        calls = row.new_calls - row.base_calls
        function = row.function
        line(
            out,
            f"{shown(row.base):>13}{shown(row.new):>13}",
            (f"{shown(row.delta):>13}{growth:>9}", "red" if row.grew else "cyan"),
            f"{f'{calls:+,}' if calls else '':>11}  ",
            labelled(function.name, function.file, function.line, out.width - _NUMBERS),
        )
    left = result.left + max(len(result.rows) - (top or TOP), 0)
    if left > 0:
        line(out, (f"{'…':>13} {count(left, 'more function')}", "dim"))
    if result.grew:
        paragraph(out, f"{count(result.grew, 'function')} grew by more than the limit.")
