"""The types of a heap as a table."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import command, line, paragraph
from sonde.views.selecting.formatting import amount, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.types import HeapTypes

TOP = 20
_NUMBERS = 10 + 8 + 11 + 12 + 2


def render(result: HeapTypes, out: Console, *, path: str, top: int | None = None) -> None:
    sizes = " (sizes are estimates: the file has no real ones)" if result.estimated_sizes else ""
    paragraph(out, f"{count(result.objects, 'object')}, {amount(result.bytes)}{sizes}.")
    if result.unreachable_objects:
        paragraph(
            out,
            f"Besides, {count(result.unreachable_objects, 'object')} "
            f"({amount(result.unreachable_bytes)}) that no root leads to: garbage.",
        )
    out.print()
    line(out, (f"{'retained':>10}{'':8}{'shallow':>11}{'count':>12}  type", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        line(
            out,
            f"{amount(row.retained):>10}",
            (f"{percent(row.retained / max(result.bytes, 1), 1):>8}", "cyan"),
            f"{amount(row.shallow):>11}",
            f"{row.count:>12,}",
            "  ",
            (shortened(printable(row.type), out.width - _NUMBERS), "bold" if row.is_own else ""),
        )
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more type')}", "dim"))
    suspect = next((row for row in result.rows if row.is_own), None)
    if suspect is None:
        return
    type_ = printable(suspect.type)
    out.print()
    paragraph(out, f"What keeps {type_} alive:")
    command(out, f"sonde report {shlex.quote(path)} heap --path {shlex.quote(type_)}", indent=2)
