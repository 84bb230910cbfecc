"""Entries and exits of functions as slices of time that nest.

The depth of each event is known, so an end belongs to the event before it at the same depth of its
thread. Where that is none, one of the two is missing: the call was under way when recording began,
is not over when it ends, or an event was lost. Such a slice reaches to the nearest event of its
thread that is no deeper, so that all slices of a thread nest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonde.model.order import stable_order

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class CallSlices:
    """By the event that it is known from; times of a slice that is cut are those of the cut."""

    thread: Ints
    context: Ints
    depth: Ints
    start: Ints
    end: Ints
    entry: Ints
    """The row of the event that began it, -1: before recording, or lost."""
    exit: Ints
    """The row of the event that ended it, -1: after recording, or lost."""
    interval: Ints
    """Of which interval it is a part, if it was cut."""
    first: Ints
    last: Ints
    """Its begin and end in the order of all begins and ends of the thread."""

    def __len__(self) -> int:
        return len(self.thread)

    def rows(self, rows: Ints | Flags) -> CallSlices:
        return CallSlices(*(column[rows] for column in vars(self).values()))

    def cut(self, thread: Ints, start: Ints, end: Ints) -> CallSlices:
        """The parts of it inside of these intervals of threads.

        The intervals of a thread do not overlap; they come by thread and time.
        """
        if not len(self):
            return self
        # A stride wider than any time puts the threads one behind the other.
        low = min(int(self.start.min()), int(start.min(initial=0)))
        stride = max(int(self.end.max()), int(end.max(initial=0))) - low + 2
        first = np.searchsorted(
            end - low + thread * stride, self.start - low + self.thread * stride
        )
        after = np.searchsorted(
            start - low + thread * stride, self.end - low + self.thread * stride, "right"
        )
        parts = np.maximum(after - first, 0)
        row = np.repeat(np.arange(len(self)), parts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
        interval = first[row] + within
        mine = self.rows(row)
        begin, over = np.maximum(mine.start, start[interval]), np.minimum(mine.end, end[interval])
        # What only touches an interval is not in it, unless it has no length and is at its start.
        keep = (begin < over) | ((mine.start == mine.end) & (mine.start < end[interval]))
        cut = {**vars(mine), "start": begin, "end": over, "interval": interval}
        return CallSlices(**cut).rows(keep)

    def ordered(self) -> tuple[Ints, Flags]:
        """All begins and ends in the order in which they happened, by thread: the slice of each,
        and whether it is a begin."""
        size = len(self)
        slices = np.concatenate([np.arange(size), np.arange(size)])
        begins = np.arange(2 * size) < size
        place = np.concatenate([self.first, self.last])
        inner = np.concatenate([self.depth, -1 - self.depth])
        order = np.lexsort((inner, place, self.interval[slices], self.thread[slices]))
        return slices[order], begins[order]


def call_slices(
    thread: NDArray[np.integer],
    time: Ints,
    context: NDArray[np.integer],
    depth: Ints,
    begins: Flags,
) -> CallSlices:
    """Of events, those of a thread in their order."""
    order = stable_order(thread)
    size = len(order)
    thread_of: Ints = thread[order].astype(np.int64)
    depth, begins = depth[order], begins[order]
    context_of: Ints = context[order].astype(np.int64)
    bounds = np.flatnonzero(np.diff(thread_of, prepend=-1, append=-1))
    time = _ascending(time[order], bounds)
    group = np.lexsort((depth, thread_of))
    same = (np.diff(thread_of[group]) == 0) & (np.diff(depth[group]) == 0)
    a, b = group[:-1], group[1:]
    pair = same & begins[a] & ~begins[b] & (context_of[a] == context_of[b])
    entry, exit_ = a[pair], b[pair]
    whole = _is_deeper_between(depth, begins, thread_of, entry, exit_)
    entry, exit_ = entry[whole], exit_[whole]
    open_, lone = begins.copy(), ~begins
    open_[entry], lone[exit_] = False, False
    open_at, lone_at = np.flatnonzero(open_), np.flatnonzero(lone)
    next_, before = _neighbours(depth, bounds, open_at, lone_at)
    # Behind a begin at the same depth, which is of another call and is over only now.
    at_once = (before >= 0) & begins[before] & (depth[before] == depth[lone_at])
    at_once &= thread_of[before] == thread_of[lone_at]
    since = np.where(at_once, lone_at, before)
    known = np.concatenate([entry, open_at, lone_at])
    none = np.full(size, -1)
    # A begin without an end is over just before the next event; so is an end without a begin.
    first = np.concatenate(
        [2 * entry, 2 * open_at, np.where(at_once, 2 * lone_at - 1, 2 * before + 1)]
    )
    last = np.concatenate([2 * exit_, 2 * next_ - 1, 2 * lone_at])
    final = np.repeat(bounds[1:] - 1, np.diff(bounds))
    start_of = np.repeat(bounds[:-1], np.diff(bounds))
    until = np.minimum(next_, final[open_at]) if len(open_at) else next_
    since = np.maximum(since, start_of[lone_at]) if len(lone_at) else since
    return CallSlices(
        thread_of[known],
        context_of[known],
        depth[known],
        np.concatenate([time[entry], time[open_at], time[since]]),
        np.concatenate([time[exit_], time[until], time[lone_at]]),
        np.concatenate([order[entry], order[open_at], none[: len(lone_at)]]),
        np.concatenate([order[exit_], none[: len(open_at)], order[lone_at]]),
        np.zeros(len(known), dtype=np.int64),
        first,
        last,
    )


def _ascending(time: Ints, bounds: Ints) -> Ints:
    """Clocks of cores differ by some nanoseconds: no time of a thread is before the last one."""
    found = time.copy()
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        np.maximum.accumulate(time[start:end], out=found[start:end])
    return found


def _is_deeper_between(depth: Ints, begins: Flags, thread: Ints, a: Ints, b: Ints) -> Flags:
    """Whether all events between two of the same depth are deeper: else they are of two calls."""
    found = np.ones(len(a), dtype=bool)
    # Where no event is missing, each one is where the one before has left the stack.
    step = (depth + begins)[:-1] != (depth + ~begins)[1:]
    missing = np.append(0, np.cumsum(step & (thread[:-1] == thread[1:])))
    doubtful = np.flatnonzero(missing[a] != missing[b]) if len(missing) else np.zeros(0, np.int64)
    for level in np.unique(depth[a[doubtful]]).tolist():
        shallower = np.cumsum(depth < level)
        mine = doubtful[depth[a[doubtful]] == level]
        found[mine] = shallower[a[mine]] == shallower[b[mine]]
    return found


def _neighbours(depth: Ints, bounds: Ints, after: Ints, before: Ints) -> tuple[Ints, Ints]:
    """The next event of the thread behind each of `after`, and the last one in front of each of
    `before`, that is no deeper; or one behind, or in front of, all events of the thread."""
    next_, last = np.zeros(len(after), dtype=np.int64), np.zeros(len(before), dtype=np.int64)
    for level in np.unique(np.concatenate([depth[after], depth[before]])).tolist():
        places = np.flatnonzero(depth <= level)
        mine = depth[after] == level
        at = np.append(places, len(depth))[np.searchsorted(places, after[mine], "right")]
        end = bounds[np.searchsorted(bounds, after[mine], "right")]
        next_[mine] = np.minimum(at, end)
        mine = depth[before] == level
        at = np.append(-1, places)[np.searchsorted(places, before[mine])]
        start = bounds[np.searchsorted(bounds, before[mine], "right") - 1]
        last[mine] = np.maximum(at, start - 1)
    return next_, last
