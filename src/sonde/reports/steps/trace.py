"""The trace view: the flow of calls, or a table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count
from sonde.views.steps.trace import FLOW, FUNCTION, LINE

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.steps.trace import TraceReport

TOP = 40
"""Rows shown by default."""


def render(result: TraceReport, out: Console, *, top: int | None = None) -> None:
    if result.trouble:
        paragraph(out, f"There is no step trace: {result.trouble}.")
        return
    if not result.rows:
        line(out, "No instructions were traced; trace some with: sonde trace PID --for 100ms")
        return
    paragraph(out, _sentence(result))
    shown = result.rows[: top or TOP]
    if result.by == FLOW:
        _flow(shown, out)
    else:
        _table(result, shown, out)
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more row')}", "dim"))


def _sentence(result: TraceReport) -> str:
    text = f"{result.instructions:,} instructions of {count(result.threads, 'thread')}"
    if result.spans is not None:
        text += f" in {count(result.spans, 'span')}"
    if result.full and result.ended_at is not None:
        at = result.ended_at
        where = f"{printable(at['name'])} ({os.path.basename(printable(at['file']))}:{at['line']})"
        text += f"; the buffer was full, and the trace ended in {where}"
    return text + "."


def _flow(rows: list[dict[str, Any]], out: Console) -> None:
    line(out, (f"{'instructions':>12}  {'then':<7} function", "bold"))
    thread = None
    for row in rows:
        if row["tid"] != thread:
            thread = row["tid"]
            line(out, (f"thread {thread}", "dim"))
        indent = "  " * min(row["depth"], 20)
        text = f"{indent}{_place(row)}"
        line(
            out,
            f"{row['instructions']:>12,}  ",
            (f"{row['end']:<7}", "cyan"),
            " ",
            shortened(text, max(out.width - 23, 20)),
        )


def _place(row: dict[str, Any]) -> str:
    first, last = row["first_line"], row["line"]
    lines = f"{first}" if first == last else f"{first}-{last}"
    return f"{printable(row['name'])} ({os.path.basename(printable(row['file']))}:{lines})"


def _table(result: TraceReport, rows: list[dict[str, Any]], out: Console) -> None:
    if result.by == FUNCTION:
        heads: tuple[str, ...] = ("instructions", "total", "calls")
    elif result.by == LINE:
        heads = ("instructions",)
    else:
        heads = ("instructions", "iterations", "entries")
    line(out, ("".join(f"{head:>14}" for head in heads) + f"  {result.by}", "bold"))
    room = max(out.width - 14 * len(heads) - 2, 20)
    for row in rows:
        last = row.get("last_line", row["line"])
        lines = f"{row['line']}" if last == row["line"] else f"{row['line']}-{last}"
        where = f"{printable(row['name'])} ({os.path.basename(printable(row['file']))}:{lines})"
        line(out, "".join(f"{row[head]:>14,}" for head in heads), "  ", shortened(where, room))
