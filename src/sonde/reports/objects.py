"""The objects view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import labelled, printable, shortened
from sonde.reports.layout.page import line, paragraph
from sonde.views.objects.objects import GROWTH, Objects, ObjectsRow
from sonde.views.selecting.formatting import amount, count, duration, percent
from sonde.views.selecting.selection import ALIVE

if TYPE_CHECKING:
    from rich.console import Console

TOP = 20
"""Rows shown by default."""

MIN_WHERE = 40
"""Columns that a location needs; where there are fewer, it begins below the numbers."""
INDENT = 12

_HEADS = {"class": "class", "site": "class / allocation site", "context": "class / call stack"}


def render(result: Objects, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, _nothing(result))
        return
    paragraph(out, _sentence(result))
    if result.survival is not None and result.of not in (ALIVE, GROWTH):
        paragraph(out, _alive(result))
    out.print()
    alive = result.survival is not None and result.of not in (ALIVE, GROWTH)
    shown = result.rows[: top or TOP]
    heads = f"{_first(result):>10}{'±':>10}{'':8}{'objects':>13}{'sampled':>9}"
    heads += f"{'alive':>10}" if alive else ""
    indent = len(heads) + 2
    below = indent if out.width - indent >= MIN_WHERE else INDENT
    line(out, (f"{heads}  {_HEADS[result.by]}", "bold"))
    total = abs(result.estimated_bytes)
    for row in shown:
        share = "" if not total else percent(row.estimated_bytes / total, 1)
        if result.of == GROWTH:
            share = ""
        line(
            out,
            f"{_signed(result, row.estimated_bytes):>10}",
            (f"{amount(row.margin_bytes):>10}", "dim"),
            (f"{share:>8}", "cyan"),
            f"{('≥ ' if row.at_least else '') + f'{row.estimated_count:,}':>13}",
            (f"{row.count:>9,}", "dim"),
            f"{amount(row.survival.live_bytes):>10}" if alive and row.survival else "",
            "  ",
            shortened(printable(row.type), max(out.width - indent, 12)),
        )
        if result.by != "class":
            line(out, " " * below, (_where(row, out.width - below), "dim"))
    left = len(result.rows) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>10} {count(left, 'more row')}", "dim"))
    if any(row.at_least for row in shown):
        line(out, ("≥ The runtime hides some allocations of this class.", "dim"))


def _nothing(result: Objects) -> str:
    if result.of == ALIVE:
        return f"No sampled object was alive after {duration(result.at_ns or 0)}."
    if result.of == GROWTH:
        return "No sampled object was allocated and kept, or freed, in this time."
    return "No allocations were sampled."


def _sentence(result: Objects) -> str:
    classes = count(result.classes, "class", "classes")
    samples = count(result.count, "sample")
    if result.of == GROWTH:
        begin = duration(result.from_ns or 0)
        end = "the end" if result.at_ns is None else duration(result.at_ns)
        return (
            f"Estimate: what is alive grew by {_signed(result, result.estimated_bytes)} ± "
            f"{amount(result.margin_bytes)} from {begin} to {end}, in {classes}, from {samples}."
        )
    if result.of == ALIVE:
        return (
            f"Estimate: {amount(result.estimated_bytes)} ± {amount(result.margin_bytes)} in "
            f"{result.estimated_count:,} objects of {classes} alive after "
            f"{duration(result.at_ns or 0)}, from {samples}."
        )
    return (
        f"Estimate: {amount(result.estimated_bytes)} ± {amount(result.margin_bytes)} in "
        f"{result.estimated_count:,} allocations of {classes}, from {samples}."
    )


def _alive(result: Objects) -> str:
    found = result.survival
    assert found is not None
    return (
        f"Alive in the end: {amount(found.live_bytes)} ± {amount(found.live_margin_bytes)}; "
        f"at most {amount(found.high_water_bytes)}, after {duration(found.high_water_ns)}."
    )


def _first(result: Objects) -> str:
    return {ALIVE: "alive", GROWTH: "growth"}.get(result.of, "bytes")


def _signed(result: Objects, size: int) -> str:
    if result.of != GROWTH:
        return amount(size)
    return ("-" if size < 0 else "+") + amount(abs(size))


def _where(row: ObjectsRow, width: int) -> str:
    if row.chain is not None:
        return on_one_line(row.chain, width)
    if row.site is None:
        return "an unknown location"
    function, at = row.site
    return str(labelled(function.name, function.file, at, width))
