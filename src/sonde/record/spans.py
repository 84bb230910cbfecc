"""The spans of one process as they come out of its rings."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.recording.writer import Writer

# Another ring may still hold a sample of a span whose end has been drained from its own.
KEEP_NS = 3_000_000_000


class UnknownSpanError(Exception):
    """Its beginning lies in another ring that has not been drained yet."""


class Spans:
    """Rows by the numbers that the agent gave; forgotten some time after the end."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._rows: dict[int, int] = {}
        self._ended: deque[tuple[int, int]] = deque()

    def row(self, number: int) -> int:
        """Of the span with this number; -1 for none."""
        if not number:
            return -1
        try:
            return self._rows[number]
        except KeyError:
            raise UnknownSpanError(number) from None

    def given_up(self, number: int) -> None:
        """Its beginning never came."""
        self._rows[number] = -1

    def begin(self, number: int, parent: int, thread: int, at_ns: int, name: str) -> None:
        above = self._rows.get(parent, -1)
        self._rows[number] = self._writer.append("spans", thread, at_ns, name, above)

    def end(self, number: int, at_ns: int) -> None:
        row = self._rows.get(number, -1)
        if row >= 0:
            self._writer.append("span_ends", row, at_ns)
        self._ended.append((at_ns, number))
        while self._ended[0][0] < at_ns - KEEP_NS:
            self._rows.pop(self._ended.popleft()[1], None)
