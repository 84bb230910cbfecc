"""Recordings of a call flow made by hand, event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sonde.recording.flow_tables import Flow, FlowEvents, FlowRuns
from sonde.row_values import (
    FLOW_ENTRY,
    FLOW_EXIT,
    FLOW_RESUME,
    FLOW_THROW,
    FLOW_UNWIND,
    FLOW_YIELD,
)
from synthetic import Maker

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

KINDS = {
    "+": FLOW_ENTRY, "-": FLOW_EXIT, "y": FLOW_YIELD, "r": FLOW_RESUME, "t": FLOW_THROW,
    "!": FLOW_UNWIND,
}  # fmt: skip
"""As events are written here: "+ main > work" enters work, called by main."""

Event = tuple[int, str] | tuple[int, str, str]
"""When, what, and on which thread, if not the main one."""


def with_flow(
    make: Maker, events: list[Event], *, metric: str = "cpu", overhead: int = 0
) -> Recording:
    """The recording of these events, with the tree of calls that they add up to; each event takes
    the time since the thread's event before."""
    rows: list[tuple[int, int, int, int, int]] = []
    counts: dict[tuple[int, int], list[int]] = {}
    last: dict[int, tuple[int, int]] = {}
    for time, what, *rest in events:
        thread = make.thread(rest[0] if rest else "MainThread")
        sign, _, chain = what.partition(" ")
        context = make.context(" > ".join(f"{name}:0" for name in chain.split(" > ")))
        caller, _, _ = chain.rpartition(" > ")
        after = (
            make.context(" > ".join(f"{name}:0" for name in caller.split(" > "))) if caller else -1
        )
        ends = sign in "-y!"
        before, running = last.get(thread, (time, -1))
        row = counts.setdefault((thread, context), [0] * 5)
        row[0] += sign == "+"
        row[1] += sign in "rt"
        row[2] += sign == "!"
        if running >= 0:
            spent = counts.setdefault((thread, running), [0] * 5)
            spent[3] += time - before + overhead
            spent[4] += overhead
        rows.append((thread, time, context, KINDS[sign], time - before))
        last[thread] = (time, after if ends else context)
    return replace(make.recording(), **_tables(rows, counts, metric))


def _tables(
    rows: list[tuple[int, int, int, int, int]],
    counts: dict[tuple[int, int], list[int]],
    metric: str,
) -> dict[str, FlowRuns | Flow | FlowEvents]:
    def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, dtype=np.int64)

    events = np.array(rows, dtype=np.int64).reshape(-1, 5)
    by_context = np.array(list(counts.values()), dtype=np.int64).reshape(-1, 5)
    none = np.zeros(len(counts), dtype=np.int64)
    return {
        "flow_runs": FlowRuns(
            np.zeros(1, dtype=np.uint32), column([0]), [metric], np.ones(1, dtype=np.uint8),
            np.zeros(1), column([len(rows)]), column([0]), column([0]), column([0]),
        ),
        "flow": Flow(
            np.array([thread for thread, _ in counts], dtype=np.uint32),
            np.array([context for _, context in counts], dtype=np.int32),
            by_context[:, 0], by_context[:, 1], by_context[:, 2], by_context[:, 3],
            by_context[:, 4], none,
        ),
        "flow_events": FlowEvents(
            events[:, 0].astype(np.uint32), events[:, 1], events[:, 2].astype(np.int32),
            events[:, 3].astype(np.uint8), events[:, 4],
        ),
    }  # fmt: skip


SHOP: list[Event] = [
    (0, "+ main"),
    (10, "+ main > fib"),
    (20, "+ main > fib > fib"),
    (50, "- main > fib > fib"),
    (60, "- main > fib"),
    (70, "+ main > gen"),
    (80, "y main > gen"),
    (90, "+ main > bad"),
    (95, "! main > bad"),
    (100, "r main > gen"),
    (130, "- main > gen"),
    (1, "- serve", "worker"),
    (5, "+ poll", "worker"),
    (9, "- poll", "worker"),
    (30, "+ poll", "worker"),
    (140, "+ main > open"),
    (150, "+ main > open > deep"),
]
"""Recursion, a generator, an exception; `serve` was under way before, main, open and deep are not
over in the end; neither is poll on the worker."""
