"""What was hot in a whole session, as two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.stacks.live_profile import HotContexts

TOP = 10
"""Rows shown by default."""
_NUMBERS = 9 + 8 + 10 + 10 + 2
_CALLS = 9 + 2


def render(result: HotContexts, out: Console, *, top: int | None = None) -> None:
    if not result.total_ns:
        line(out, "This session kept no profile in memory; see docs/howto/online.md.")
        return
    lower = ""
    if not result.exact:
        share = percent(result.known, 1)
        lower = f"; activation counts are lower limits, exact in {share} of the samples"
    paragraph(
        out,
        f"{duration(result.total_ns)} of CPU time in {duration(result.for_ns)}; the profile uses "
        f"{result.memory // 1024} of {result.bound // 1024} KiB{lower}.",
    )
    out.print()
    line(out, (f"{'self':>9}{'':8}{'total':>10}{'found':>10}  context", "bold"))
    for row in result.rows[: top or TOP]:
        line(
            out,
            f"{duration(row.own_ns):>9}",
            (f"{percent(row.own_ns / result.total_ns, 1):>8}", "cyan"),
            f"{duration(row.total_ns):>10}",
            f"{row.activations:>10,}",
            f"  {on_one_line(row.chain, out.width - _NUMBERS)}",
        )
    left = len(result.rows) - (top or TOP)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more context')}", "dim"))
    out.print()
    line(out, (f"{'found':>9}  new call edges", "bold"))
    for edge in result.edges[: top or TOP]:
        chain = on_one_line(edge.chain, out.width - _CALLS)
        line(out, f"{edge.activations:>9,}", f"  {chain}")
