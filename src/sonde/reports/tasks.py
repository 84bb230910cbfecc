"""The tasks view as tables: loops, tasks, and where those were suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.loops.tasks import TaskRow, Tasks

TOP = 20
"""Rows shown by default."""
AWAITS = 2
"""Places of suspension that are shown of each task."""

_COLUMNS = ("running", "ready", "suspended", "caused")
_WIDTH = 10


def render(result: Tasks, out: Console, *, top: int | None = None) -> None:
    if not result.rows and not result.loops:
        line(out, result.why_none)
        return
    line(out, (f"{'lag: mean':>10}{'p99':>10}{'max':>10}{'steps':>11}  loop", "bold"))
    for loop in result.loops:
        figures = "".join(f"{brief(ns):>10}" for ns in (loop.lag.mean, loop.lag.p99, loop.lag.max))
        name = f"{loop.runtime} in {printable(loop.thread)}"
        line(out, f"{figures}{loop.steps:>11,}  ", shortened(name, out.width - 43))
    line(out, "")
    heads = "".join(f"{head:>{_WIDTH}}" for head in _COLUMNS)
    line(out, (f"{heads}  task", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        _row(row, out)
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>{_WIDTH}} {count(left, 'more row')}", "dim"))
    line(
        out,
        ("ready: it waited for the loop; caused: others waited while it ran", "dim"),
    )


def _row(row: TaskRow, out: Console) -> None:
    figures = (row.running_ns, row.ready_ns, row.suspended_ns, row.caused_ns)
    text = "".join(f"{brief(ns) if ns else '':>{_WIDTH}}" for ns in figures)
    line(out, f"{text}  ", shortened(_name(row), out.width - len(text) - 2))
    for found in [found for found in row.awaits if found.chain][:AWAITS]:
        indent = 2 * _WIDTH
        place = on_one_line(found.chain or [], out.width - indent - _WIDTH - 4)
        line(out, (f"{'':{indent}}{brief(found.suspended_ns):>{_WIDTH}}  ↳ {place}", "dim"))


def _name(row: TaskRow) -> str:
    function = "" if row.coroutine is None else printable(row.coroutine.name)
    if row.kind == "task":
        return " · ".join(filter(None, [printable(row.name or ""), function])) or f"{row.task}"
    if row.kind == "callback":
        return f"{function or printable(row.name or '?')} (callback)"
    return f"{function} ({count(row.tasks, 'short task')})"
