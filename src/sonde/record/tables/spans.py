"""The spans of one process as they come out of its rings."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..shm.lock_drain import LockRuns
    from .segment import ProcessSegment
    from .thread_row import ThreadRow

# Another ring may still hold a sample of a span whose end has been drained from its own.
KEEP_NS = 3_000_000_000
MAX_FORGOTTEN = 1 << 16


class UnknownSpanError(Exception):
    """Its beginning lies in another ring that has not been drained yet."""


@dataclass(slots=True)
class _Span:
    thread: ThreadRow
    """That entered it."""
    interpreter: int
    start: int
    name: str
    above: _Span | None
    """The one it was entered in."""
    end: int | None = None
    row: int = -1
    """In the segment being written; -1: it has not been needed there."""
    attributes: dict[str, str] | None = None
    task: int = 0
    """That entered it; 0: none."""


class Spans:
    """By the numbers that the agent gave; forgotten some time after the end."""

    def __init__(self, segment: ProcessSegment, lock_runs: LockRuns) -> None:
        self._segment = segment
        self._lock_runs = lock_runs
        self._spans: dict[int, _Span] = {}
        self._ended: deque[tuple[int, int]] = deque()
        self._unknown: dict[int, bool] = {}
        """Whose beginning never came, and whether anything of this segment lies in them."""
        self._forgotten: dict[int, None] = {}
        """The last ones that ended long ago: parts and attributes of theirs may still come."""

    def check(self, number: int) -> None:
        """An error if it is not known what the span with this number is."""
        if number and number not in self._spans and number not in self._forgotten:
            if number not in self._unknown:
                raise UnknownSpanError(number)
            self._unknown[number] = True

    def row(self, number: int) -> int:
        """Of the span with this number; -1 for none, and for one that is not known any more."""
        span = self._spans.get(number) if number else None
        if span is None:
            return -1
        return span.row if span.row >= 0 else self._write(span)

    def given_up(self, number: int) -> None:
        """Its beginning never came."""
        self._unknown[number] = True

    def begin(
        self,
        number: int,
        parent: int,
        thread: ThreadRow,
        interpreter: int,
        start: int,
        name: str,
        task: int = 0,
    ) -> None:
        span = _Span(thread, interpreter, start, name, self._spans.get(parent), task=task)
        self._forget(number)
        self._spans[number] = span
        self._write(span)

    def set(self, number: int, key: str, value: str) -> None:
        """A fact about the span with this number; the last value of a key counts."""
        span = self._spans.get(number)
        if span is None:
            return
        row = self.row(number)
        if span.attributes is None:
            span.attributes = {}
        span.attributes[key] = value
        self._segment.writer.append("span_attributes", row, key, value)

    def end(self, number: int, at: int) -> None:
        span = self._spans.get(number)
        if span is not None and span.end is None:
            row = self.row(number)
            span.end = at
            self._write_end(row, at)
        self._ended.append((at, number))
        while self._ended[0][0] < at - KEEP_NS:
            old = self._ended.popleft()[1]
            self._forget(old)
            self._forgotten[old] = None
        while len(self._forgotten) > MAX_FORGOTTEN:
            del self._forgotten[next(iter(self._forgotten))]

    def start_segment(self) -> None:
        """A new segment begins: open ones are reported again, others when they are needed."""
        self._lock_runs.spans_change()
        self._unknown = {number: False for number, needed in self._unknown.items() if needed}
        for number, span in list(self._spans.items()):
            span.row = -1
            if not span.thread.is_listed:
                self._forget(number)  # a thread that is over has no row any more
        for span in self._spans.values():
            if span.end is None and span.row < 0:
                self._write(span)

    def _forget(self, number: int) -> None:
        self._lock_runs.spans_change()
        self._unknown.pop(number, None)
        self._forgotten.pop(number, None)
        span = self._spans.pop(number, None)
        if span is not None:
            span.row = -1  # others may have been entered in it

    def _write(self, span: _Span) -> int:
        segment = self._segment
        # Where that has no row in this segment, the one before has reported what it was entered in.
        above = -1 if span.above is None else span.above.row
        thread = span.thread.row(span.interpreter)
        start = span.start - segment.origin
        span.row = segment.writer.append("spans", thread, start, span.name, above, span.task)
        if span.end is not None:  # before this segment began, as the one before it says
            segment.writer.append("span_ends", span.row, 0)
        for key, value in (span.attributes or {}).items():
            segment.writer.append("span_attributes", span.row, key, value)
        return span.row

    def _write_end(self, row: int, at: int) -> None:
        after = at - self._segment.origin
        # The opened table has -1 for those that were not left.
        self._segment.writer.append("span_ends", row, 0 if after == -1 else after)
