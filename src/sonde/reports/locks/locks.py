"""Who waited for what and because of whom, as a tree with bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.model.locks.holder_activity import MIN_SAMPLES
from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import bar, heading, line, paragraph
from sonde.row_values import NO_FRAMES
from sonde.views.locks.held_in import RELEASED_FUNCTION
from sonde.views.selecting.formatting import brief, count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.locks.locks import Chain, Locks, LocksRow

TOP = 5
"""Rows shown of each level by default."""
SMALL = 0.01
"""Rows with a smaller share of the waiting are folded."""
BAR = 6
CHAINS = 5
NOT_SAMPLED = "holder off CPU, or too few samples"
_NUMBERS = 8 + 1 + BAR + 8 + 9 + 2

KINDS = {
    "gil": "the GIL",
    "rlock": "reentrant locks",
    "lock": "locks",
    "semaphore": "semaphores",
    "condition": "conditions",
    "event": "events",
    "barrier": "barriers",
    "queue": "queues",
    "join": "the end of threads (join)",
    "future": "futures",
    "import": "import locks",
    "io": "buffer locks of files and streams",
    "process": "locks shared between processes",
    "object": "per-object locks",
    "monitor": "monitors (synchronized)",
    "rwlock": "read-write locks",
    "park": "unpark",
    "loop": "event loops",
}


def render(result: Locks, out: Console, *, top: int | None = None) -> None:
    paragraph(out, _summed_up(result))
    if not result.rows:
        return
    owned, signalled = _parts(result)
    for title, rows in (("Contention", owned), ("Waits for notifications", signalled)):
        if not rows:
            continue
        if result.by[0] == "kind":
            heading(out, title)
        else:
            out.print()
        head = f"{'waited':>8} {'':{BAR}}{'waits':>8}{'longest':>9}  "
        line(out, (head + " / ".join(map(_title, result.by)), "bold"))
        _rows(rows, sum(row.wait_ns for row in rows), out, top, 0)
    _chains(result, out, top)
    if result.held_samples is not None:
        out.print()
        paragraph(
            out,
            f"What holders did is an estimate from {count(result.held_samples, 'CPU sample')} in "
            f"contended holds; below {MIN_SAMPLES} samples per row it is unknown.",
        )
    if result.unknown_ns:
        out.print()
        paragraph(
            out,
            f"For {duration(result.unknown_ns)} the holder is unknown: the wait timed out or had "
            "not "
            "ended, or an event was lost.",
        )


def _summed_up(result: Locks) -> str:
    if not result.total_ns:
        return "No thread waited for a lock, for the GIL or for another thread."
    owned = result.total_ns - result.signalling_ns - result.loop_ns
    who = "Tasks and threads" if result.loop_ns else "Threads"
    said = f"{who} waited {duration(result.total_ns)} in {count(result.count, 'wait')}: "
    parts = []
    if owned:
        after = result.after_notification_ns
        notified = f" ({duration(after)} of it after a notification)" if after else ""
        parts.append(f"{duration(owned)} for locks held by other threads{notified}")
    if result.loop_ns:
        parts.append(f"{duration(result.loop_ns)} for event loops")
    if result.signalling_ns:
        parts.append(f"{duration(result.signalling_ns)} for notifications (queues, events, joins)")
    said += ", ".join([*parts[:-2], " and ".join(parts[-2:])]) + "."
    if result.undecided:
        said += f" {count(result.undecided, 'more wait')} cannot be counted: events were lost."
    return said


def _parts(result: Locks) -> tuple[list[LocksRow], list[LocksRow]]:
    """Waits for notifications are no contention: an idle worker waits all day."""
    if result.by[0] != "kind":
        return result.rows, []
    return (
        [row for row in result.rows if not _mostly_signalling(row)],
        [row for row in result.rows if _mostly_signalling(row)],
    )


def _mostly_signalling(row: LocksRow) -> bool:
    """A future has a lock, too, which its threads may contend for after its notification."""
    return 2 * row.signalling_ns > row.wait_ns


def _rows(rows: list[LocksRow], total: int, out: Console, top: int | None, depth: int) -> None:
    large = [row for row in rows if top is not None or row.wait_ns >= SMALL * total]
    shown = (large or rows[:1])[: top or TOP]
    for row in shown:
        indent = "  " * depth
        line(
            out,
            f"{brief(row.wait_ns):>8} ",
            (bar(row.wait_ns / total if total else 0, BAR, waiting=True), "yellow"),
            f"{row.count:>8,}{brief(row.max_ns):>9}  {indent}",
            _label(row, out.width - _NUMBERS - len(indent)),
        )
        _rows(row.children, total, out, top, depth + 1)
    left = rows[len(shown) :]
    if left:
        spent = sum(row.wait_ns for row in left)
        line(
            out,
            (f"{brief(spent):>8} {'':{_NUMBERS - 9 + 2 * depth}}… {len(left):,} more", "dim"),
        )


def _label(row: LocksRow, width: int) -> str:
    verb = _verb(row)
    room = width - len(verb)
    value = row.value
    if value is None:
        if is_held_in(row):
            return "no holder" if row.signalling else NOT_SAMPLED
        return f"{verb}an unknown thread" if "task" not in row.aspect else f"{verb}no known task"
    if isinstance(value, list | dict):
        frames = value if isinstance(value, list) else [value]
        if frames[-1]["name"] == RELEASED_FUNCTION.name:
            return "released, waiter not yet running"
        if frames[-1]["name"] == NO_FRAMES and row.signalling:
            return f"{verb}a thread's end"
        return verb + on_one_line(frames, room)
    if row.aspect == "kind":
        return KINDS.get(value, str(value))
    return verb + shortened(printable(str(value)), room)


def is_held_in(row: LocksRow) -> bool:
    return row.aspect.startswith("held_in")


def _verb(row: LocksRow) -> str:
    if is_held_in(row):
        return "holder in "
    if row.aspect.startswith("owner"):
        return "notified by " if row.signalling else "held by "
    return (
        "by "
        if row.aspect in ("waiter_thread", "waiter_task")
        else "in "
        if "waiter" in row.aspect
        else ""
    )


def _title(aspect: str) -> str:
    whose, _, what = aspect.rpartition("_")
    titles = {"owner": "held by", "held_in": "holder in", "lock": "lock class"}
    if whose == "waiter":
        return f"waiter's {'stack' if what == 'chain' else what}"
    return titles.get(whose, what)


def _chains(result: Locks, out: Console, top: int | None) -> None:
    """Holders that were waiting too: the wait is attributed along the chain."""
    owned = result.total_ns - result.signalling_ns
    shown = [chain for chain in result.chains if chain.wait_ns >= SMALL * owned][: top or CHAINS]
    if not shown:
        return
    heading(out, "Holders that were waiting too")
    for chain in shown:
        share = percent(chain.wait_ns / owned) if owned else ""
        line(out, f"{brief(chain.wait_ns):>8} ", (f"{share:>5}  ", "cyan"), _link(chain, 0))
        for i in range(1, len(chain.links)):
            line(out, " " * 16, "  " * i, "which waited for ", _link(chain, i))


def _link(chain: Chain, place: int) -> str:
    lock, holder = chain.links[place]
    by = printable(holder.name) if holder is not None else "an unknown thread"
    return f"{printable(lock)}, held by {by}"
