"""Objects that were searched for, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import amount, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.search import FoundObjects

_NUMBERS = 10 + 11 + 2


def render(result: FoundObjects, out: Console) -> None:
    if not result.objects:
        line(out, "No object that is alive matches.")
        return
    paragraph(out, f"{count(result.objects, 'object')}, {amount(result.bytes)}.")
    out.print()
    line(out, (f"{'retained':>10}{'shallow':>11}  object, holder", "bold"))
    for row in result.rows:
        what = f"{row.id:#x}" if row.text is None else f'{row.id:#x} "{printable(row.text)}"'
        line(
            out,
            f"{amount(row.retained):>10}{amount(row.shallow):>11}  ",
            shortened(f"{printable(row.type)}  {what}", out.width - _NUMBERS),
        )
        line(out, " " * _NUMBERS, (f"in {printable(row.holder)}", "dim"))
    left = result.objects - len(result.rows)
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more object')}; see --top", "dim"))
