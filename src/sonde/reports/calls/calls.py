"""The calls view as tables: edges, then what to do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import labelled, printable
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.calls.call_edge import CallEdge
    from sonde.views.calls.calls import Calls
    from sonde.views.calls.inlining_advice import Advice
    from sonde.views.selecting.profile import Function

TOP = 20
"""Edges shown by default."""
SITES = 5
"""Pieces of advice of each kind."""

_NUMBERS = 8 + 16 + 9 + 2


def render(result: Calls, out: Console, *, top: int | None = None) -> None:
    if not result.count:
        line(out, "No calls were counted.")
        return
    cut = f", {result.cut:,} of them incomplete" if result.cut else ""
    paragraph(
        out,
        f"{count(result.count, 'call')} of {count(result.functions, 'function')} counted in "
        f"{count(result.windows, 'window')}{cut}.",
    )
    out.print()
    shown = result.edges[: top or TOP]
    line(out, (f"{'of calls':>8}{'95 % interval':>16}{'counted':>9}  callee / called from", "bold"))
    for edge in shown:
        line(
            out,
            (f"{percent(edge.weight, 1):>8}", "cyan"),
            (f"{_interval(edge):>16}", "dim"),
            (f"{edge.count:>9,}", "dim"),
            "  ",
            _function(edge.callee, out.width - _NUMBERS),
        )
        line(out, " " * _NUMBERS, (_from(edge, out.width - _NUMBERS), "dim"))
    left = len(result.edges) - len(shown) + result.left
    if left > 0:
        line(out, (f"{'…':>8} {count(left, 'more row')}", "dim"))
    _advice(result.advice, out)


def _interval(edge: CallEdge) -> str:
    low, high = edge.interval
    return f"{100 * low:.1f} to {percent(high, 1)}"


def _function(function: Function, width: int) -> str:
    return labelled(function.name, function.file, function.line, width)


def _from(edge: CallEdge, width: int) -> str:
    if edge.chain is not None:
        return on_one_line(edge.chain[:-1], width) if edge.chain[:-1] else "nothing"
    if edge.caller is None:
        return "outside the program"
    return labelled(edge.caller.name, edge.caller.file, edge.site_line, width)


def _advice(advice: Advice, out: Console) -> None:
    for title, pieces in (("Worth inlining", advice.inlined), ("Calls in loops", advice.loops)):
        if pieces:
            heading(out, title)
        for piece in pieces[:SITES]:
            where = labelled(piece.caller.name, piece.caller.file, piece.line, out.width - 12)
            line(out, "  ", (f"{percent(piece.weight, 1):>7}", "cyan"), "  ", str(where))
            paragraph(out, f"{printable(piece.said)}.", indent=11)
