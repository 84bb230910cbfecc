"""Equal values and nearly empty arrays as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.selecting.formatting import amount, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.duplicates import Duplicates

TOP = 12
_NUMBERS = 10 + 12 + 2


def render(result: Duplicates, out: Console, *, top: int | None = None) -> None:
    paragraph(out, f"Equal values take {amount(result.wasted)} more than one of each would.")
    out.print()
    line(out, (f"{'wasted':>10}{'count':>12}  value", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        value = "" if row.value is None else f' "{printable(row.value)}"'
        line(
            out,
            f"{amount(row.wasted):>10}{row.count:>12,}  ",
            shortened(f"{printable(row.type)}{value}", out.width - _NUMBERS),
        )
        line(out, " " * _NUMBERS, (f"one in {printable(row.holder)}", "dim"))
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more value')}", "dim"))
    if not result.sparse:
        return
    heading(out, f"Arrays at most a quarter full: {amount(result.sparse_wasted)} unused")
    line(out, (f"{'unused':>10}{'count':>12}  used  type, holder", "bold"))
    for sparse in result.sparse[: top or TOP]:
        line(
            out,
            f"{amount(sparse.wasted):>10}{sparse.count:>12,}  ",
            (f"{percent(sparse.used / max(sparse.room, 1)):>5} ", "cyan"),
            shortened(
                f"{printable(sparse.type)} in {printable(sparse.holder)}", out.width - _NUMBERS - 6
            ),
        )
