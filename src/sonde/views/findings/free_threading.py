"""A rule about locks that nobody waits for now, and threads would queue for without a GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.views.findings.evidence import Evidence, Finding
from sonde.views.locks.lock_activity import lock_activity
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD = 0.3
"""Of the time: two threads that run at once meet at the lock about as often."""
TRANSFERS = 0.02
"""Of the CPU time: what cache lines of locks take from processor to processor."""
MIN_SAMPLES = 100
UNCONTENDED = 0.05
"""A lock that threads wait for now is in the findings already."""


def locks_without_gil(evidence: Evidence) -> Iterator[Finding]:
    active = lock_activity(evidence.recording, evidence.selection)
    if active is None or active.costs is None:
        return
    for lock in active.locks:
        cost = active.without_gil(lock)
        free = lock.contended.number <= UNCONTENDED * lock.acquisitions.number
        if cost is None or not free or lock.threads < 2 or lock.samples < MIN_SAMPLES:
            continue
        spent = cost.total_ns / max(evidence.running.total, 1)
        held = cost.held_share or 0.0
        if held < HELD and spent < TRANSFERS:
            continue
        yield Finding(
            f"{lock.name} would cost time on a free-threaded build",
            f"{count(lock.threads, 'thread')} acquired it {lock.acquisitions.number:,} times and "
            f"held it {percent(held)} of the time; without a GIL, threads that run at once would "
            f"wait for it, and acquiring it would take about {brief(cost.total_ns)} (estimate)",
            max(min(held, 1.0), spent),
            evidence.command("lock-table"),
        )
