"""What a lock's holder executed, or waited in, while other threads waited for the lock.

A CPU sample represents the CPU time since the sample before it, at the stack of its own moment. So
it counts where that moment falls into a hold, with all of its weight: clipping the weight at the
hold's beginning would attribute time to the hold that was spent before it. Off-CPU time is known
from its beginning to its end, and is intersected exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.model.locks.contention import Contentions, Flags, Ints
from sonde.model.locks.pressure import ranges

MIN_SAMPLES = 10
"""Fewer CPU samples than this say nothing about a group of holds."""
MAX_SAMPLES = 1 << 20
"""CPU samples matched at a time. If there are more, every nth is taken with n times its weight."""


class Pieces(NamedTuple):
    """Parts of the asked-for intervals, each with what the thread did in it."""

    interval: Ints
    context: Ints
    ns: Ints
    source: Ints
    """The number of the wait or of the CPU sample it is from."""
    at_start: Flags
    """It lasts already when the interval begins."""


class HolderActivity:
    """Looks up what threads did in given intervals of time."""

    def __init__(
        self,
        threads: int,
        thread: Ints,
        time: Ints,
        weight: Ints,
        context: Ints,
        off_cpu: Flags,
        contentions: Contentions,
    ) -> None:
        """`off_cpu` flags samples of a wait; the others are CPU samples."""
        self._span = int(max(time.max(initial=0), contentions.end.max(initial=0))) + 2
        ran = np.flatnonzero(~off_cpu)
        at = self._place(thread[ran], time[ran])
        order = ran[np.argsort(at, kind="stable")]
        self._ticks = np.sort(at)
        self._tick_weight, self._tick_context = weight[order], context[order]

        self.off_cpu_known = np.zeros(threads, dtype=bool)
        """By thread: its waits were recorded, so all other time is on-CPU or runnable."""
        self.off_cpu_known[thread[off_cpu]] = True
        # A sampled wait covers the contention that it is part of.
        other = ~self.off_cpu_known[contentions.thread]
        whose = np.concatenate([thread[off_cpu], contentions.thread[other]])
        start = np.concatenate([(time - weight)[off_cpu], contentions.start[other]])
        end = np.concatenate([time[off_cpu], contentions.end[other]])
        begin = self._place(whose, start)
        order = np.argsort(begin, kind="stable")
        self._wait_end = np.maximum.accumulate(self._place(whose, end)[order])
        # A thread waits once at a time. Where clocks disagree, the earlier wait keeps the overlap.
        before = np.append(0, self._wait_end[:-1])[: len(order)]
        self._wait_start = np.minimum(np.maximum(begin[order], before), self._wait_end)
        self._wait_context = np.concatenate([context[off_cpu], contentions.context[other]])[order]

    @property
    def sample_count(self) -> int:
        return len(self._ticks)

    def _place(self, thread: Ints, time: Ints) -> Ints:
        """One axis for all threads, each thread's stretch behind the one before."""
        return thread * self._span + np.clip(time, 0, self._span - 1)

    def waits(self, thread: Ints, start: Ints, end: Ints) -> Pieces:
        """The parts of the intervals in which their threads were off-CPU."""
        begin, stop = self._place(thread, start), self._place(thread, end)
        low = np.searchsorted(self._wait_end, begin, "right")
        high = np.maximum(np.searchsorted(self._wait_start, stop, "left"), low)
        interval, piece = ranges(low, high)
        ns = np.minimum(self._wait_end[piece], stop[interval]) - np.maximum(
            self._wait_start[piece], begin[interval]
        )
        keep = ns > 0
        interval, piece = interval[keep], piece[keep]
        at_start = self._wait_start[piece] <= begin[interval]
        return Pieces(interval, self._wait_context[piece], ns[keep], piece, at_start)

    def samples(self, thread: Ints, start: Ints, end: Ints) -> Pieces:
        """The CPU samples in the intervals, each with its weight."""
        low = np.searchsorted(self._ticks, self._place(thread, start), "right")
        high = np.searchsorted(self._ticks, self._place(thread, end), "right")
        step = -(-int((high - low).sum()) // MAX_SAMPLES) or 1
        interval, piece = ranges(-(-low // step), np.maximum(-(-high // step), -(-low // step)))
        piece *= step
        weight = self._tick_weight[piece] * step
        return Pieces(
            interval, self._tick_context[piece], weight, piece, np.zeros(len(piece), dtype=bool)
        )
