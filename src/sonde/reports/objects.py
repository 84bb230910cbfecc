"""The objects view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import labelled, printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import amount, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.objects import Objects, ObjectsRow

TOP = 20
"""Rows shown by default."""

_NUMBERS = 10 + 8 + 12 + 9 + 2


def render(result: Objects, out: Console, *, top: int | None = None) -> None:
    if not result.count:
        line(out, "No allocations were sampled.")
        return
    paragraph(
        out,
        f"Estimate: {amount(result.estimated_bytes)} in {result.estimated_count:,} allocations of "
        f"{count(result.classes, 'class', 'classes')}, from {count(result.count, 'sample')}.",
    )
    out.print()
    shown = result.rows[: top or TOP]
    line(out, (f"{'bytes':>10}{'':8}{'objects':>12}{'sampled':>9}  {_title(result.by)}", "bold"))
    for row in shown:
        share = row.estimated_bytes / result.estimated_bytes
        line(
            out,
            f"{amount(row.estimated_bytes):>10}",
            (f"{percent(share, 1):>8}", "cyan"),
            f"{row.estimated_count:>12,}",
            (f"{row.count:>9,}", "dim"),
            "  ",
            shortened(printable(row.type), out.width - _NUMBERS),
        )
        if result.by != "class":
            line(out, " " * _NUMBERS, (_where(row, out.width - _NUMBERS), "dim"))
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more row')}", "dim"))


def _title(by: str) -> str:
    return {"class": "class", "site": "class / allocation site", "context": "class / call stack"}[
        by
    ]


def _where(row: ObjectsRow, width: int) -> str:
    if row.chain is not None:
        return on_one_line(row.chain, width)
    if row.site is None:
        return "an unknown location"
    function, at = row.site
    return str(labelled(function.name, function.file, at, width))
