"""The dominator tree: what would be freed with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import amount, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.dominators import DominatorRow, Dominators

TOP = 40
"""Lines by default."""
_NUMBERS = 10 + 8 + 2


def render(result: Dominators, out: Console, *, top: int | None = None) -> None:
    paragraph(
        out,
        f"{count(result.objects, 'object')}, {amount(result.bytes)}. What is indented would be "
        "freed with the object above it.",
    )
    out.print()
    line(out, (f"{'retained':>10}{'':8}  object", "bold"))
    # The largest, wherever in the tree they are: what is above one of them is larger.
    sizes = sorted((row.retained for row in _all(result.rows)), reverse=True)
    least = sizes[min(top or TOP, len(sizes)) - 1] if sizes else 0
    _rows(result.rows, out, result.bytes, least, 0)


def _all(rows: list[DominatorRow]) -> list[DominatorRow]:
    return [found for row in rows for found in (row, *_all(row.children))]


def _rows(rows: list[DominatorRow], out: Console, total: int, least: int, depth: int) -> None:
    for row in rows:
        if row.retained < least:
            continue
        indent = "  " * depth
        line(
            out,
            f"{amount(row.retained):>10}",
            (f"{percent(row.retained / max(total, 1), 1):>8}", "cyan"),
            f"  {indent}",
            shortened(_name(row), out.width - _NUMBERS - len(indent)),
        )
        _rows(row.children, out, total, least, depth + 1)


def _name(row: DominatorRow) -> str:
    if row.id is None:
        return f"{row.count:,} × {printable(row.type)}"
    if row.type == "java.lang.Class" and row.text is not None:
        return f"class {printable(row.text)}"
    text = "" if row.text is None else f' "{printable(row.text)}"'
    return f"{printable(row.type)}{text}  {row.id:#x}"
