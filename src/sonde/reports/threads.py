"""The threads view as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.model.cpu_loss import CPU_LOSS_CAUSES
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.threads import ThreadRow, Threads

TOP = 20
"""Rows shown by default."""
MOSTLY = 0.95
"""Below this share of the CPU time whose processor is known, the split of steal is explained."""

_NUMBERS = 9 + 9 + 10 + 10 + 10 + 2


def render(result: Threads, out: Console, *, top: int | None = None) -> None:
    shown = result.rows[: top or TOP]
    line(
        out,
        (f"{'process':>9}{'tid':>9}{'life':>10}{'cpu':>10}{'off-CPU':>10}  thread", "bold"),
    )
    for row in shown:
        name = printable(row.name)
        if row.interpreter:
            name += f" (interpreter {row.interpreter})"
        waited = sum(row.wait_ns.values())
        line(
            out,
            f"{row.process:>9} {row.tid:>8} {brief(row.wall_ns):>9} {brief(row.cpu_ns):>9}"
            f" {brief(waited) if waited else '':>9}  ",
            shortened(name, out.width - _NUMBERS),
        )
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more thread')}", "dim"))
    if any(row.taken_ns is not None for row in shown):
        line(out, "")
        _used(shown, out)
        known = result.steal_by_processor
        if known is not None and known < MOSTLY and any(row.steal_ns for row in shown):
            line(
                out,
                (
                    f"The CPU on which a thread ran is known for {percent(known)} of the CPU "
                    "time; for the rest, steal time is estimated from the whole machine's.",
                    "dim",
                ),
            )


def _used(rows: list[ThreadRow], out: Console) -> None:
    """What others took, and what else was counted."""
    head = ("tid", "cpu", "queue", "quota", "steal", "waits", "preempted", "faults")
    line(out, ("".join(f"{word:>10}" for word in head), "bold"))
    for row in rows:
        taken = row.taken_ns or {}
        figures = [
            f"{row.tid}",
            brief(row.corrected_cpu_ns if row.corrected_cpu_ns is not None else row.cpu_ns),
            *(brief(ns) if (ns := taken.get(cause, 0)) else "" for cause in CPU_LOSS_CAUSES),
            *(
                "" if number is None else f"{number:,}"
                for number in (row.voluntary_switches, row.involuntary_switches, row.page_faults)
            ),
        ]
        line(out, "".join(f" {figure:>9}" for figure in figures))
    line(
        out,
        (
            "queue: run-queue latency; quota: CPU throttling; steal: steal time",
            "dim",
        ),
    )
