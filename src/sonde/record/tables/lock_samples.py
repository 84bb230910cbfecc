"""Sampled acquisitions of locks as they come out of the rings: a row each, when its hold ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .lock_table import Locks
    from .segment import ProcessSegment
    from .spans import Spans
    from .thread_row import ThreadRow

# The end of a hold may be drained before its beginning, which lies in another ring.
MAX_EARLY = 1 << 12
# The agent has room for fewer.
MAX_HELD = 1 << 13

UNKNOWN_HOLD = -1


@dataclass(slots=True)
class LockSample:
    thread: ThreadRow
    interpreter: int
    time: int
    lock: int
    kind: int
    context: int
    every: int
    counted: int
    flags: int
    wait_ns: int
    spin_ns: int
    """-1: unknown."""
    span: int
    type: str
    """The lock's, of Java."""


class SampledLocks:
    """Of one process."""

    def __init__(self, segment: ProcessSegment, locks: Locks, spans: Spans) -> None:
        self._segment = segment
        self._locks = locks
        self._spans = spans
        self._held: dict[int, LockSample] = {}
        """By id of the hold, which lasts."""
        self._early: dict[int, int] = {}
        """How long holds were whose beginning has not come yet."""

    def add(self, sample: LockSample, hold: int) -> None:
        """`hold` 0: its end will not be reported."""
        if not hold:
            self._write(sample, UNKNOWN_HOLD)
            return
        known = self._early.pop(hold, None)
        if known is not None:
            self._write(sample, known)
            return
        self._held[hold] = sample
        if len(self._held) > MAX_HELD:  # the oldest ended unseen
            first = next(iter(self._held))
            self._write(self._held.pop(first), UNKNOWN_HOLD)

    def end(self, hold: int, hold_ns: int) -> None:
        sample = self._held.pop(hold, None)
        if sample is not None:
            self._write(sample, hold_ns)
            return
        self._early[hold] = hold_ns
        if len(self._early) > MAX_EARLY:
            del self._early[next(iter(self._early))]

    def counted(self, thread: ThreadRow, now: int, count: int) -> None:
        """The thread made so many acquisitions after its last sample."""
        if count:
            segment = self._segment
            segment.writer.append("lock_counts", thread.row(0), now - segment.origin, count)

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """A new segment begins: holds that last become its rows when they end."""
        for sample in self._held.values():
            sample.context = remap(sample.context)
            if not sample.thread.is_listed:
                sample.thread.rows = {}  # of a thread that is over, in an old segment

    def finish(self) -> None:
        """No record comes any more: what is held now has no known end."""
        for sample in self._held.values():
            self._write(sample, UNKNOWN_HOLD)
        self._held.clear()

    def _write(self, sample: LockSample, hold_ns: int) -> None:
        segment = self._segment
        segment.writer.append(
            "lock_samples", sample.thread.row(sample.interpreter), sample.time - segment.origin,
            self._locks.row(sample.lock, sample.kind, sample.type), sample.context, sample.every,
            sample.counted, sample.flags, sample.wait_ns, hold_ns, self._spans.row(sample.span),
            sample.spin_ns,
        )  # fmt: skip
