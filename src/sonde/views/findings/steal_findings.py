"""Findings about run-queue latency, CPU throttling and steal time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.views.findings.evidence import Evidence, Finding
from sonde.views.selecting.formatting import duration, percent
from sonde.views.selecting.selection import threads_of
from sonde.views.selecting.stolen_time import by_thread, is_counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.cpu_loss import CpuLossCause

TAKEN = 0.10
"""Of the time that threads could have run."""
MIN_NS = 20_000_000

_BLAME: dict[CpuLossCause, tuple[str, str]] = {
    "queue": ("long run-queue latency", "waited in a run queue"),
    "quota": ("CPU throttling", "were throttled by the CPU quota of their control group"),
    "hypervisor": (
        "high steal time",
        "lost their CPU to other guests of the host",
    ),
}


def taken_by_others(evidence: Evidence) -> Iterator[Finding]:
    recording, selection = evidence.recording, evidence.selection
    if not is_counted(recording):
        return
    keep = threads_of(recording, selection)
    lost = by_thread(recording, selection.start_ns, selection.end_ns)
    ran = evidence.running.total
    for cause, (title, how) in _BLAME.items():
        ns = lost[cause] * keep
        total = int(ns.sum())
        share = total / (total + ran) if total else 0.0
        if share < TAKEN or total < MIN_NS:
            continue
        worst = int(np.argmax(ns))
        name = recording.threads.name[worst] or str(recording.threads.tid[worst])
        yield Finding(
            title,
            f"runnable threads {how} for {duration(total)}, {percent(share)} of the time "
            f"they could have run; the most affected is {name} with {duration(int(ns[worst]))}",
            share,
            evidence.command("flat", "--taken", "steal" if cause == "hypervisor" else cause),
        )
