"""The table of locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import line
from sonde.reports.locks import lock_activity
from sonde.row_values import NO_FRAMES
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.locks.lock_table import LockRow, LockTable

CLASSES = 5
"""Classes of locks shown by default."""
TOP = 20
"""Rows shown by default."""


def render(result: LockTable, out: Console, *, top: int | None = None) -> None:
    if result.activity is not None:
        lock_activity.render(result.activity, out, top=top)
        out.print()
    waited = [row for row in result.rows if row.waits]
    if not waited:
        line(out, "No thread waited for a lock, for the GIL or for another thread.")
        return
    if result.is_spread:
        _by_class(result, out, top)
    shown = waited[: top or TOP]
    head = (
        f"{'waited':>8}{'waits':>9}{'mean':>9}{'longest':>9}{'held':>9}{'threads':>9}"
        f"{'queue':>7}{'worst':>7}  kind"
    )
    line(out, (head, "bold"))
    for row in shown:
        _row(row, out)
    left = len(waited) - len(shown)
    if left > 0:
        line(out, (f"{'…':>8} {count(left, 'more lock')}", "dim"))
    out.print()
    for text in (
        "held: mean hold time while others waited. threads: waiters/holders.",
        "queue: mean number of waiting threads; worst: in the worst second.",
    ):
        line(out, (text, "dim"))


def _by_class(result: LockTable, out: Console, top: int | None) -> None:
    line(out, "The waiting is spread over many locks; by lock class:")
    line(out, (f"{'waited':>8}{'waits':>9}{'mean':>9}{'longest':>9}{'locks':>9}  kind", "bold"))
    for row in result.classes[: top or CLASSES]:
        line(
            out,
            f"{brief(row.wait_ns):>8}{row.waits:>9,}{brief(row.mean_ns):>9}{brief(row.max_ns):>9}"
            f"{row.locks:>9,}  {row.kind}",
        )
        line(out, f"    {shortened(printable(row.lock_class), max(out.width - 4, 30))}")
    out.print()


def _row(row: LockRow, out: Console) -> None:
    held = brief(row.hold_ns) if row.hold_ns is not None else ""
    line(
        out,
        f"{brief(row.wait_ns):>8}{row.waits:>9,}{brief(row.mean_ns):>9}"
        f"{brief(row.max_ns):>9}{held:>9}{f'{row.waiters}/{row.owners}':>9}"
        f"{row.pressure:>7.2f}{row.peak:>7.2f}  {row.kind}",
    )
    blamed = ""
    if row.owner_function is not None and row.wait_ns:
        verb = "notified" if row.signalling else "held"
        blamed = f", {percent(row.owner_ns / row.wait_ns)} {verb} by {_name(row)}"
    name = shortened(printable(row.lock), max(out.width - 4 - len(blamed), 30))
    line(out, f"    {name}", (blamed, "dim"))


def _name(row: LockRow) -> str:
    assert row.owner_function is not None
    name = str(row.owner_function["name"])
    return "a thread's end" if row.signalling and name == NO_FRAMES else printable(name)
