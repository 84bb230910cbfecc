"""The whole machine's profile, laid out as the Performance Inspector's: LAB, TKS, %%, NAMES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.tprof import Row, Section, Tprof

LABELS = {"process": "PID", "thread": "TID", "module": "MOD", "symbol": "SYM"}
TOP = 20
"""Rows of a level shown by default."""
SMALL = 0.001
"""Below this share of all ticks a row is left out."""
_NUMBERS = 1 + 3 + 9 + 8 + 2


def render(result: Tprof, out: Console, *, top: int | None = None) -> None:
    lost = f"; {result.lost:,} were lost" if result.lost else ""
    busy = result.ticks - result.idle
    paragraph(
        out,
        f"{result.ticks:,} samples of {count(result.processors, 'CPU')} in "
        f"{duration(result.duration_ns)}, {result.rate:,} per second each; "
        f"{percent(busy / result.ticks, 1) if result.ticks else '0 %'} of them busy{lost}.",
    )
    for section in result.sections:
        heading(out, "_".join(level.capitalize() for level in section.by))
        line(out, (f" {'LAB':<3}{'TKS':>9}{'%%':>8}  NAMES", "bold"))
        _rows(section, section.rows, result.ticks, out, top or TOP, 0)


def _rows(
    section: Section, rows: list[Row], total: int, out: Console, top: int, depth: int
) -> None:
    shown = [row for row in rows[:top] if row.ticks >= SMALL * total]
    for row in shown:
        name = printable(row.name) or "?"
        if row.id is not None:
            name = f"{name}_{row.id}"
        indent = "  " * depth
        line(
            out,
            (f" {LABELS[row.level]:<3}", "bold" if depth == 0 else ""),
            f"{row.ticks:>9,}",
            (f"{100 * row.ticks / total:>8.2f}", "cyan"),
            f"  {indent}",
            shortened(name, out.width - _NUMBERS - len(indent)),
        )
        _rows(section, row.children, total, out, top, depth + 1)
    left = len(rows) - len(shown)
    if left:
        ticks = sum(row.ticks for row in rows) - sum(row.ticks for row in shown)
        line(out, (f" {'':<3}{ticks:>9,}{100 * ticks / total:>8.2f}  {'  ' * depth}… {left} more",
                   "dim"))  # fmt: skip
