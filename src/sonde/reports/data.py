"""The data view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.data import Data

TOP = 20
"""Rows shown by default."""
_WIDTHS = {"memory": 8, "type": 26, "offset": 8, "function": 30}
_NUMBERS = 12 + 8 + 2


def render(result: Data, out: Console, *, top: int | None = None) -> None:
    if not result.total:
        line(out, f"No {result.event} have a data address.")
        return
    paragraph(
        out,
        f"{result.total:,} {result.event} by accessed data; the object type is known for "
        f"{percent(result.named / result.total)}.",
    )
    out.print()
    heads = "  ".join(f"{aspect:<{_WIDTHS.get(aspect, 0)}}" for aspect in result.by)
    line(out, (f"{result.event[:12]:>12}{'':8}  {heads}".rstrip(), "bold"))
    for row in result.rows[: top or TOP]:
        room = out.width - _NUMBERS
        words = "  ".join(_word(aspect, row.key[aspect], room) for aspect in result.by)
        line(
            out,
            f"{row.count:>12,}",
            (f"{percent(row.count / result.total, 1):>8}", "cyan"),
            f"  {words}".rstrip(),
        )
    left = len(result.rows) - (top or TOP) + result.left
    if left > 0:
        line(out, (f"{'…':>12} {count(left, 'more row')}", "dim"))


def _word(aspect: str, value: Any, room: int) -> str:
    if aspect == "context":
        return on_one_line(value, room) if value else "?"
    if value is None:
        text = "?"
    elif aspect == "function":
        text = printable(value["name"])
    elif aspect == "offset":
        text = f"{value:+d}"
    else:
        text = printable(str(value))
    width = _WIDTHS[aspect]
    return f"{shortened(text, width):<{width}}"
