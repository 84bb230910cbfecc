"""How late event loops were: how long their callbacks were ready before they ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.selecting.selection import Selection, threads_of

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.tables import Recording

MAX_POINTS = 1000
"""Neighbours of a longer series are added up."""


@dataclass(frozen=True)
class Lag:
    """How long callbacks of a loop were ready before they ran."""

    mean: int
    max: int
    p99: int
    """At most 25 % too large: it is the bound of a histogram's bucket."""

    def to_json(self) -> dict[str, int]:
        return {"mean": self.mean, "max": self.max, "p99": self.p99}


@dataclass(frozen=True)
class LagPoint:
    """The same of the callbacks that began in a part of the time."""

    start_ns: int
    end_ns: int
    steps: int
    mean_ns: int
    max_ns: int

    def to_json(self) -> dict[str, int]:
        return {
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "steps": self.steps,
            "mean_ns": self.mean_ns,
            "max_ns": self.max_ns,
        }


@dataclass(frozen=True)
class Loop:
    thread: str
    tid: int
    runtime: str
    steps: int
    lag: Lag
    series: list[LagPoint]
    """By time."""

    def to_json(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "tid": self.tid,
            "runtime": self.runtime,
            "steps": self.steps,
            "lag_ns": self.lag.to_json(),
            "lag": [point.to_json() for point in self.series],
        }


def in_range(time: Ints, selection: Selection) -> Flags:
    flags = np.ones(len(time), dtype=bool)
    if selection.start_ns is not None:
        flags &= time >= selection.start_ns
    if selection.end_ns is not None:
        flags &= time < selection.end_ns
    return flags


def loops_of(recording: Recording, selection: Selection) -> list[Loop]:
    """The loops of the selected threads, the one with most steps first."""
    times, lags, threads = recording.loop_times, recording.loop_lags, recording.threads
    chosen = threads_of(recording, selection)
    keep = in_range(times.time, selection) & chosen[times.thread]
    lag_keep = in_range(lags.time, selection)
    found = []
    for thread in np.unique(times.thread[keep]).tolist():
        mine = keep & (times.thread == thread)
        steps, ready = int(times.steps[mine].sum()), int(times.ready_ns[mine].sum())
        longest = int(times.max_ns[mine].max())
        buckets = lag_keep & (lags.thread == thread)
        p99 = min(_quantile(lags.below_ns[buckets], lags.count[buckets], 0.99), longest)
        runtime = times.runtime[int(np.flatnonzero(mine)[-1])]
        tid = int(threads.tid[thread])
        name = threads.name[thread] or str(tid)
        lag = Lag(ready // max(steps, 1), longest, p99)
        found.append(Loop(name, tid, runtime, steps, lag, _series(recording, thread, mine)))
    return sorted(found, key=lambda loop: -loop.steps)


def _series(recording: Recording, thread: int, mine: Flags) -> list[LagPoint]:
    """Each row of the table is about the time since the thread's row before it."""
    times = recording.loop_times
    rows = np.flatnonzero(mine)
    rows = rows[np.argsort(times.time[rows], kind="stable")]
    earlier = times.time[(times.thread == thread) & (times.time < times.time[rows[0]])]
    end = np.maximum(times.time[rows].astype(np.int64), 0)
    start = np.append(int(earlier.max(initial=0)), end[:-1])
    first = np.arange(0, len(rows), -(-len(rows) // MAX_POINTS))
    steps = np.add.reduceat(times.steps[rows].astype(np.int64), first)
    ready = np.add.reduceat(times.ready_ns[rows].astype(np.int64), first)
    longest = np.maximum.reduceat(times.max_ns[rows].astype(np.int64), first)
    last = np.append(first[1:], len(rows)) - 1
    mean = ready // np.maximum(steps, 1)
    columns = (start[first], end[last], steps, mean, longest)
    return [LagPoint(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _quantile(below: Ints, count: Ints, share: float) -> int:
    if not len(below):
        return 0
    order = np.argsort(below, kind="stable")
    filled = np.cumsum(count[order].astype(np.int64))
    place = int(np.searchsorted(filled, share * filled[-1]))
    return int(below[order[min(place, len(order) - 1)]])
