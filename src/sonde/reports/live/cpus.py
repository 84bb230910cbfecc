"""What processors did, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.page import line

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.record.system.cpu_times import CpuTime

_BAR = 24


def render(rows: list[CpuTime], out: Console) -> None:
    words = ("cpu", "user", "system", "interrupt", "steal", "idle")
    line(out, ("".join(f"{word:>10}" for word in words), "bold"))
    for row in rows:
        total = row.total_ns or 1
        parts = (row.user_ns, row.system_ns, row.interrupt_ns, row.steal_ns, row.idle_ns)
        shares = "".join(f"{100 * part / total:>8.1f} %" for part in parts)
        line(out, f"{row.name:>10}{shares}  ", _bar(row, total, out.width - 62))
    line(out, "")


def _bar(row: CpuTime, total: int, width: int) -> str:
    """Busy time as blocks, stolen time as crosses."""
    room = max(min(width, _BAR), 0)
    stolen = round(room * row.steal_ns / total)
    busy = round(room * (total - row.idle_ns - row.steal_ns) / total)
    return "█" * busy + "×" * stolen
