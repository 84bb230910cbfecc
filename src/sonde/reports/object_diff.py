"""Objects of two recordings, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled, printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.reports.objects import INDENT, MIN_WHERE
from sonde.views.selecting.formatting import amount, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.objects.object_diff import Amount, ObjectDiff

TOP = 20
"""Rows shown by default."""


def render(result: ObjectDiff, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, "No allocations were sampled in either recording.")
        return
    paragraph(out, f"{_sum(result.base)} before, {_sum(result.new)} now.")
    out.print()
    alive = result.rows[0].alive_delta is not None
    heads = f"{'change':>10}{'±':>10}{'base':>10}{'new':>10}"
    heads += f"{'alive':>10}{'±':>10}" if alive else ""
    indent = len(heads) + 2
    below = indent if out.width - indent >= MIN_WHERE else INDENT
    line(out, (f"{heads}  class / function", "bold"))
    shown = result.rows[: top or TOP]
    for row in shown:
        line(
            out,
            (f"{_signed(row.delta):>10}", "red" if row.delta > 0 else "blue"),
            (f"{amount(row.margin):>10}", "dim"),
            f"{amount(row.base.allocated):>10}",
            f"{amount(row.new.allocated):>10}",
            f"{_signed(row.alive_delta):>10}" if row.alive_delta is not None else "",
            (f"{amount(row.alive_margin):>10}" if row.alive_margin is not None else "", "dim"),
            "  ",
            shortened(printable(row.type), max(out.width - indent, 12)),
        )
        if row.function is not None:
            found = row.function
            where = labelled(found.name, found.file, found.line, out.width - below)
            line(out, " " * below, (str(where), "dim"))
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more row')}", "dim"))


def _sum(found: Amount) -> str:
    said = f"{amount(found.allocated)} ± {amount(found.allocated_margin)} allocated"
    if found.alive is None or found.alive_margin is None:
        return said
    return f"{said} and {amount(found.alive)} ± {amount(found.alive_margin)} alive in the end"


def _signed(size: int) -> str:
    return ("-" if size < 0 else "+") + amount(abs(size))
