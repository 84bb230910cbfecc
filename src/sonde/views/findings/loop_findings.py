"""A rule about event loops: code that keeps one busy while tasks are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.views.findings.evidence import Evidence, Finding, place
from sonde.views.loops.loop_locks import function_of, loop_rows
from sonde.views.loops.loop_waits import loop_pieces
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.formatting import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.views.locks.locks import LocksRow

LEAST_NS = 50_000_000
"""Less waiting than this nobody notices ..."""
LEAST = 0.02
"""... nor in a long recording less than this share of it."""
BLOCKER = 0.30
"""Of the waiting for loops: one function that causes as much is named."""
CALLED = 0.30
"""Of what a function causes: a function that it calls in so much of it is named."""


def blocked_loops(evidence: Evidence) -> Iterator[Finding]:
    recording, selection = evidence.recording, evidence.selection
    if not len(recording.loop_times) or selection.span is not None:
        return
    pieces = loop_pieces(recording, selection)
    whole, total = duration_ns(recording), pieces.total_ns
    if total < max(LEAST_NS, LEAST * whole):
        return
    rows = loop_rows(pieces, ("held_in_own", "waiter_function"))
    blocker = next((row for row in rows if row.value is not None), None)
    if blocker is None or blocker.wait_ns < BLOCKER * total:
        return
    function = function_of(blocker.value)
    waiter = _waiter(blocker)
    if function is None or waiter is None:
        return
    called = _called(loop_rows(pieces, ("held_in_own", "held_in_function")), blocker)
    waited = sum(
        row.wait_ns for row in loop_rows(pieces, ("waiter_function",)) if row.value == waiter.value
    )
    who = function_of(waiter.value)
    assert who is not None
    yield Finding(
        f"{function.name} blocks the event loop",
        f"{place(who)} waited {duration(waited)} for the event loop, "
        f"{percent(waiter.wait_ns / max(waited, 1))} of it while {place(function)} ran{called}; "
        f"longest wait {duration(waiter.max_ns)}",
        min(total / max(whole, 1), 1.0) * blocker.wait_ns / total,
        evidence.command("locks", "--by", "kind,held_in_chain,waiter_task"),
    )


def _waiter(blocker: LocksRow) -> LocksRow | None:
    return next((row for row in blocker.children if row.value is not None), None)


def _called(rows: list[LocksRow], blocker: LocksRow) -> str:
    """What the function called for most of that time, if it was one function."""
    mine = next((row for row in rows if row.value == blocker.value), None)
    for row in mine.children if mine is not None else []:
        function = function_of(row.value)
        if function is None or row.value == blocker.value:
            continue
        if row.wait_ns >= CALLED * blocker.wait_ns:
            return f", mostly in {place(function)}"
    return ""
