"""The slow steps of event loops as a list, each with its stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.loops.slow_steps import SlowStep, SlowSteps

TOP = 20
"""Rows shown by default."""
STACKS = 2
_WIDTH = 10


def render(result: SlowSteps, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, result.why_none)
        return
    heads = "".join(f"{head:>{_WIDTH}}" for head in ("at", "took", "caused"))
    line(out, (f"{heads}  task", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        figures = "".join(
            f"{brief(ns):>{_WIDTH}}" for ns in (row.time_ns, row.duration_ns, row.caused_ns)
        )
        line(out, f"{figures}  ", shortened(_name(row), out.width - len(figures) - 2))
        for stack in row.stacks[:STACKS]:
            room = out.width - 2 * _WIDTH - 14
            place = on_one_line(stack.chain, room)
            line(out, (f"{'':{2 * _WIDTH}}{percent(stack.share):>8}  ↳ {place}", "dim"))
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>{_WIDTH}} {count(left, 'more step')}", "dim"))


def _name(row: SlowStep) -> str:
    function = "" if row.coroutine is None else printable(row.coroutine.name)
    return " · ".join(filter(None, [printable(row.name or ""), function])) or f"{row.task}"
