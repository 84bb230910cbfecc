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
FREE_THREADED = 3
"""Locks shown with their cost without a GIL."""


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
    spins = any(lock.spin for lock in result.locks)
    head += f"{'spun':>7}" if spins else ""
    line(out, (f"{head}  kind", "bold"))
    shown = result.locks[: top or TOP]
    for lock in shown:
        _row(lock, out, spins)
    left = len(result.locks) - len(shown)
    if left > 0:
        line(out, (f"{'…':>12} {count(left, 'more lock')}", "dim"))
    out.print()
    for text in (
        "acquired: estimate, with its margin of 95 % confidence. again: by a thread that held it.",
        "held: mean of all holds, contended or not. threads: that acquired it.",
        *(["spun: of the time threads waited for it, they ran and tried again."] if spins else []),
    ):
        line(out, (text, "dim"))
    _without_gil(result, out)


def _row(lock: LockActivity, out: Console, spins: bool) -> None:
    held = brief(lock.hold.mean) if lock.hold else ""
    longest = brief(lock.hold.max) if lock.hold else ""
    spun = f"{percent(lock.spin.share) if lock.spin else '':>7}" if spins else ""
    line(
        out,
        f"{lock.acquisitions.number:>12,}{lock.acquisitions.margin:>9,}"
        f"{_share(lock.recursive, lock):>7}{_share(lock.contended, lock):>11}"
        f"{held:>9}{longest:>9}{lock.threads:>9}{spun}  {lock.kind}",
    )
    line(out, f"    {shortened(printable(lock.name), max(out.width - 4, 30))}")


def _without_gil(result: Activity, out: Console) -> None:
    """The locks that would cost most on a free-threaded build."""
    costs = result.costs
    if costs is None:
        return
    found = [(lock, cost) for lock in result.locks if (cost := result.without_gil(lock))]
    found.sort(key=lambda each: -each[1].total_ns)
    transfer = "unknown" if costs.transfer_ns is None else f"{costs.transfer_ns:.0f} ns"
    out.print()
    line(out, ("Estimated for a free-threaded build:", "bold"))
    line(out, (f"{'lock':>10}{'transfer':>10}{'in turns':>12}{'locked':>8}  kind", "bold"))
    for lock, cost in found[:FREE_THREADED]:
        transfers = "" if cost.transfer_ns is None else brief(cost.transfer_ns)
        locked = "" if cost.held_share is None else percent(cost.held_share)
        line(
            out,
            f"{brief(cost.atomic_ns):>10}{transfers:>10}{cost.transfers:>12,}{locked:>8}"
            f"  {lock.kind}",
        )
        line(out, f"    {shortened(printable(lock.name), max(out.width - 4, 30))}")
    out.print()
    for text in (
        f"lock: acquiring and releasing, {costs.alone_ns:.1f} ns each here.",
        f"in turns: acquisitions by another thread than before; transfer: {transfer} for each.",
        "locked: the part of the time that it was held; threads queue where it is high.",
    ):
        line(out, (text, "dim"))


def _share(part: Estimate, lock: LockActivity) -> str:
    return percent(part.number / max(lock.acquisitions.number, 1)) if part.number else ""
