"""The list of entries and exits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.row_values import FLOW_TIMES
from sonde.views.selecting.formatting import brief, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.flow.flow_events import FlowEventList

TOP = 50
"""Events shown by default."""
MAX_INDENT = 20

_NUMBERS = 15 + 10 + 9 + 9


def render(result: FlowEventList, out: Console, *, top: int | None = None) -> None:
    if not result.count:
        line(out, "No events of the call flow were recorded; record them with: --flow-events")
        return
    if result.lost:
        paragraph(out, f"{count(result.lost, 'event')} found no room and are missing.")
    line(out, (f"{'time':>15}{'thread':>10}{'since':>9}  event  function", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        indent = " " * min(row.depth, MAX_INDENT)
        since = f"{row.measured:,}" if result.metric not in FLOW_TIMES else brief(row.measured)
        line(
            out,
            f"{row.time_ns / 1e9:>13.6f} s{row.tid:>10}{since:>9}  ",
            (f"{row.kind:<7}", "cyan"),
            indent,
            labelled(
                row.function.name,
                row.function.file,
                row.function.line,
                out.width - _NUMBERS - len(indent),
            ),
        )
    left = result.count - len(shown)
    if left > 0:
        line(out, (f"{'…':>15} {count(left, 'more event')}", "dim"))
