"""Acquisitions of locks, below the table of contended ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.locks.lock_activity import Activity, Estimate, LockActivity

TOP = 10
"""Rows shown by default."""


def render(result: Activity, out: Console, *, top: int | None = None) -> None:
    line(
        out,
        f"{result.acquisitions:,} acquisitions, of which one in {result.every:,} was sampled "
        f"({count(result.samples, 'sample')})."
        if result.samples
        else f"{result.acquisitions:,} acquisitions, too few for a sample.",
    )
    if not result.locks:
        return
    head = (
        f"{'acquired':>12}{'±':>9}{'again':>7}{'contended':>11}{'held':>9}{'longest':>9}"
        f"{'threads':>9}"
    )
    line(out, (f"{head}  kind", "bold"))
    shown = result.locks[: top or TOP]
    for lock in shown:
        _row(lock, out)
    left = len(result.locks) - len(shown)
    if left > 0:
        line(out, (f"{'…':>12} {count(left, 'more lock')}", "dim"))
    out.print()
    for text in (
        "acquired: estimate, with its margin of 95 % confidence. again: by a thread that held it.",
        "held: mean of all holds, contended or not. threads: that acquired it.",
    ):
        line(out, (text, "dim"))


def _row(lock: LockActivity, out: Console) -> None:
    held = brief(lock.hold.mean) if lock.hold else ""
    longest = brief(lock.hold.max) if lock.hold else ""
    line(
        out,
        f"{lock.acquisitions.number:>12,}{lock.acquisitions.margin:>9,}"
        f"{_share(lock.recursive, lock):>7}{_share(lock.contended, lock):>11}"
        f"{held:>9}{longest:>9}{lock.threads:>9}  {lock.kind}",
    )
    line(out, f"    {shortened(printable(lock.name), max(out.width - 4, 30))}")


def _share(part: Estimate, lock: LockActivity) -> str:
    return percent(part.number / max(lock.acquisitions.number, 1)) if part.number else ""
