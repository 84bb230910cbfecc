"""The spans view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.spans import SpanRow, Spans

TOP = 20
"""Rows shown by default."""

_COLUMNS = ("wall", "mean", "p50", "p99", "max", "cpu", "waiting", "locks")
_WIDTH = 9
_NAME = 16
"""Columns that a name needs beside the figures."""


def render(result: Spans, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, 'No spans were recorded; a program names them with: with sonde.span("name"): …')
        return
    shown = result.rows[: top or TOP]
    heads = f"{'count':>7}" + "".join(f"{head:>{_WIDTH}}" for head in _COLUMNS)
    room = out.width - len(heads) - 2
    beside = room >= _NAME
    line(out, (f"{heads}  span" if beside else heads, "bold"))
    for row in shown:
        figures = (
            row.wall_ns, row.mean_ns, row.p50_ns, row.p99_ns, row.max_ns, row.cpu_ns,
            sum(row.wait_ns.values()), row.lock_wait_ns,
        )  # fmt: skip
        text = f"{row.count:>7,}" + "".join(
            f"{brief(ns) if ns else '':>{_WIDTH}}" for ns in figures
        )
        name = printable(row.name) + (f" ({row.open:,} still open)" if row.open else "")
        if beside:
            line(out, f"{text}  ", shortened(name, room))
        else:  # on a narrow page the name has a line of its own
            line(out, shortened(name, out.width))
            line(out, text)
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>7} {count(left, 'more name')}", "dim"))
    if any(row.run_delay_ns is not None for row in shown):
        line(out, "")
        _taken(shown, out)


def _taken(rows: list[SpanRow], out: Console) -> None:
    """What others took, as in the view of threads."""
    heads = "".join(f"{head:>{_WIDTH}}" for head in ("queue", "quota", "steal"))
    line(out, (f"{heads}  span", "bold"))
    for row in rows:
        quota = row.throttled_ns or 0
        figures = ((row.run_delay_ns or 0) - quota, quota, row.steal_ns or 0)
        text = "".join(f"{brief(ns) if ns else '':>{_WIDTH}}" for ns in figures)
        line(out, f"{text}  ", shortened(printable(row.name), out.width - len(text) - 2))
    line(
        out,
        (
            "queue: run-queue latency; quota: CPU throttling; steal: steal time",
            "dim",
        ),
    )
