"""What threads used in a moment, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.record.system.thread_usage import ThreadStep

_WIDTH = 60


def render(rows: list[ThreadStep], seconds: float, out: Console) -> None:
    """Threads that did nothing are only counted."""
    head = ("tid", "cpu", "queue", "waits", "preempted", "faults")
    line(out, ("".join(f"{word:>10}" for word in head) + "  thread", "bold"))
    busy = [row for row in rows if row.used.cpu_ns > 0 or row.used.run_delay_ns > 0]
    for row in busy:
        used = row.used
        faults = max(used.minor_faults, 0) + max(used.major_faults, 0)
        shares = "".join(
            f"{100 * ns / 1e9 / seconds:>8.1f} %" for ns in (used.cpu_ns, used.run_delay_ns)
        )
        counts = "".join(f"{max(n, 0):>10,}" for n in (used.voluntary, used.involuntary, faults))
        name = shortened(printable(row.name), out.width - _WIDTH - 2)
        line(out, f"{row.tid:>10}{shares}{counts}  ", name)
    idle = len(rows) - len(busy)
    if idle:
        line(out, (f"{idle:>10,} idle", "dim"))
    line(out, "")
