"""Hosts that are not like the others, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.fleet.queries.outliers import MIN_COUNT, WILD
from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.outliers import Outliers

TOP = 20
_NUMBERS = 7 + 9 + 9 + 9 + 2 + 22


def render(result: Outliers, out: Console, *, top: int | None = None) -> None:
    if len(result.rows) < MIN_COUNT:
        line(out, f"Outliers need at least {MIN_COUNT} to compare.")
        return
    wild = sum(row.score >= WILD for row in result.rows)
    paragraph(out, f"{wild} of {len(result.rows)} are outliers (a score of {WILD} or more).")
    line(out)
    head = f"{'score':>7}{'overlap':>9}{'share':>9}{'usually':>9}  {result.by:<22}function"
    line(out, (head, "bold"))
    for row in result.rows[: top or TOP]:
        function = row.function
        line(
            out,
            (f"{row.score:>7.1f}", "red" if row.score >= WILD else ""),
            f"{percent(row.overlap):>9}{percent(row.share, 1):>9}{percent(row.median, 1):>9}  ",
            f"{row.unit[:21]:<22}",
            labelled(function["name"], function["file"], function["line"], out.width - _NUMBERS)
            if function
            else "",
        )
