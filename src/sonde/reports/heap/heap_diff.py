"""What grew between two heaps, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import amount, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.heap_diff import HeapDiff

TOP = 20
_NUMBERS = 12 + 12 + 2


def render(result: HeapDiff, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, "Both heaps hold the same.")
        return
    paragraph(out, f"{_signed(result.bytes_delta)} in {result.count_delta:+,} objects.")
    out.print()
    line(out, (f"{'bytes':>12}{'objects':>12}  type, holder", "bold"))
    largest = sorted(result.rows, key=lambda row: -abs(row.bytes_delta))[: top or TOP]
    for row in largest:
        line(
            out,
            f"{_signed(row.bytes_delta):>12}{row.count_delta:>+12,}  ",
            (shortened(printable(row.type), out.width - _NUMBERS), "bold" if row.is_own else ""),
        )
        line(
            out,
            " " * _NUMBERS,
            (f"in {shortened(printable(row.holder), out.width - _NUMBERS - 3)}", "dim"),
        )
    left = len(result.rows) - len(largest) + result.left
    if left > 0:
        line(out, (f"{'…':>12} {count(left, 'more row')}", "dim"))


def _signed(size: int) -> str:
    return f"-{amount(-size)}" if size < 0 else f"+{amount(size)}"
