"""The events view as a table: of each event its share, how many, and the ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.views.events import CPU
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.events import EventRow, Events

TOP = 20
"""Rows shown by default."""
_COUNT, _SHARE, _RATIO = 11, 8, 12
_LEAST_NAME = 30
"""Columns are left out, the last ratios first, until a function's name has so much room."""


def render(result: Events, out: Console, *, top: int | None = None) -> None:
    if not result.events:
        line(out, "No events were recorded; record them with: sonde run --what +event:NAME …")
        return
    for event in result.events:
        paragraph(out, _sentence(event))
    shown, ratios = list(result.events), list(result.ratios)
    while (width := _width(shown, ratios)) + _LEAST_NAME > out.width and len(shown) > 1:
        (ratios or shown).pop()
    out.print()
    heads = "".join(
        f"{_cut(event.name, _COUNT + _SHARE - 1):>{_COUNT + _SHARE}}" for event in shown
    )
    heads += "".join(f"  {_cut(_title(name), _RATIO):>{_RATIO}}" for name in ratios)
    line(out, (f"{heads}  function", "bold"))
    caused = [row for row in result.rows if any(row.counts.values())]
    for row in caused[: top or TOP]:
        parts: list[str | tuple[str, str]] = []
        for event in shown:
            own = row.counts[event.name]
            share = percent(own / event.count, 1) if event.count else ""
            parts += [f"{own:>{_COUNT},}", (f"{share:>{_SHARE}}", "cyan")]
        for name in ratios:
            parts.append(f"  {_number(row.ratios[name]):>{_RATIO}}")
        function = row.function
        where = labelled(function.name, function.file, function.line, out.width - width)
        line(out, *parts, "  ", where)
    left = len(caused) - (top or TOP)
    if left > 0:
        line(out, (f"{'…':>{_COUNT}} {count(left, 'more function')}", "dim"))
    over = ", ".join(f"{_title(name)} {_number(value)}" for name, value in result.ratios.items())
    line(out, (f"Total: {over}, in {duration(result.cpu_ns)} of CPU time.", "dim"))


def _width(events: list[EventRow], ratios: list[str]) -> int:
    return len(events) * (_COUNT + _SHARE) + len(ratios) * (_RATIO + 2) + 2


def _sentence(event: EventRow) -> str:
    every = "every one" if event.period == 1 else f"every {event.period:,}th"
    said = f"{event.name}: {event.count:,} sampled ({every})"
    if event.counted:
        said += f"; the kernel counted {event.counted:,}"
    if event.why_not:
        said += f"; {event.why_not}"
    return f"{said}."


def _title(ratio: str) -> str:
    of, _, per = ratio.rpartition("/")
    return f"{of}/s" if per == CPU else ratio


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
