"""Windows in which calls are counted: their calls come first, what they weigh at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.recording.write.writer import Writer


class Window:
    """A thread's window, as far as its calls have come."""

    def __init__(self) -> None:
        self._number = 0
        self._calls: list[tuple[int, int, int, int]] = []

    def add(self, number: int, context: int, site: int, offset: int, step: int) -> None:
        """A call was counted; one of an earlier window that never ended takes its calls along."""
        if number != self._number:
            self._number = number
            self._calls.clear()
        self._calls.append((context, site, offset, step))

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """Its contexts have other places in a new segment."""
        self._calls = [(remap(context), site, at, step) for context, site, at, step in self._calls]

    def write(
        self,
        writer: Writer,
        thread: int,
        began: int,
        duration: int,
        number: int,
        stride: int,
        how: int,
        native: int,
    ) -> None:
        calls = self._calls if number == self._number else []
        row = writer.append("windows", thread, began, duration, stride, how, native)
        writer.extend("calls", [(row, *call) for call in calls])
        self._calls = []
