"""Rules about event loops: code that keeps one busy, with tasks ready meanwhile or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.views.findings.evidence import Evidence, Finding, place
from sonde.views.locks.contentions import contended
from sonde.views.loops.lock_rows import loop_rows
from sonde.views.loops.loop_lag import in_range
from sonde.views.loops.loop_locks import function_of
from sonde.views.loops.loop_waits import NONE, activity, loop_pieces, task_of_steps
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.formatting import count, duration, percent
from sonde.views.selecting.profile import identities
from sonde.views.selecting.selection import threads_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.locks.locks import LocksRow
    from sonde.views.selecting.profile import Function

LEAST_NS = 50_000_000
"""Less waiting than this nobody notices ..."""
LEAST = 0.02
"""... nor in a long recording less than this share of it."""
BLOCKER = 0.30
"""Of the waiting for loops: one function that causes as much is named."""
SLOW_NS = 100_000_000
"""A step as long is slow, also where nothing waited meanwhile: as asyncio's debug mode has it."""
SLOW_SHARE = 0.01
"""Slow steps below this share of the recording are not worth a word."""
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


def slow_steps(evidence: Evidence) -> Iterator[Finding]:
    """Steps that nothing waited for: the next request might."""
    recording, selection = evidence.recording, evidence.selection
    table = recording.task_steps
    if not len(table) or selection.span is not None or any(blocked_loops(evidence)):
        return
    keep = threads_of(recording, selection)[table.thread] & in_range(table.time, selection)
    rows = np.flatnonzero(keep & (table.duration_ns >= SLOW_NS))
    whole = max(duration_ns(recording), 1)
    if table.duration_ns[rows].sum() < SLOW_SHARE * whole:
        return
    owner = task_of_steps(recording)[rows]
    function = np.append(recording.tasks.function.astype(np.int64), NONE)[owner]
    total = np.bincount(function + 1, weights=table.duration_ns[rows])
    total[0] = 0
    slowest = int(np.argmax(total)) - 1
    if slowest < 0 or total[slowest + 1] < SLOW_SHARE * whole:
        return
    mine = rows[function == slowest]
    _, identity = identities(recording)
    functions = contended(recording).chains.functions
    coroutine = functions[int(identity[slowest])]
    longest = duration(int(table.duration_ns[mine].max()))
    times = count(len(mine), "step")
    yield Finding(
        f"{coroutine.name} runs long without awaiting",
        f"{times} of {place(coroutine)} took {duration(SLOW_NS)} or more, the longest {longest}"
        f"{_most_in(recording, mine, coroutine)}; meanwhile the event loop runs nothing else",
        min(float(total[slowest + 1]) / whole, 1.0),
        evidence.command("tasks", "--task", coroutine.name),
    )


def _most_in(recording: Recording, steps: Ints, coroutine: Function) -> str:
    """In which function of the program most of the steps' CPU time was, if it is one."""
    everything = contended(recording)
    by_function: dict[int, float] = {}
    for step, (contexts, shares) in activity(recording, steps).items():
        length = float(recording.task_steps.duration_ns[step])
        for context, share in zip(contexts.tolist(), shares.tolist(), strict=True):
            number = int(everything.held_own_function[context])
            by_function[number] = by_function.get(number, 0.0) + share * length
    sampled = sum(by_function.values())
    number, most = max(by_function.items(), key=lambda item: item[1], default=(NONE, 0.0))
    if number == NONE or most < CALLED * sampled:
        return ""
    function = everything.chains.functions[number]
    if function == coroutine:
        return ""
    return f", {percent(most / sampled)} of their CPU time in {place(function)}"


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
