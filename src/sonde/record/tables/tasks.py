"""The tasks of one process's event loops, as they come out of its rings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .segment import ProcessSegment
    from .stacks.contexts import Codes

# Tasks that are remembered for later segments.
MAX_KNOWN = 1 << 18


class _Task(NamedTuple):
    kind: int
    name: str
    code: int
    """As a frame; 0: unknown."""
    parent: int
    created: int


class Tasks:
    """By the numbers that the agent gave; each has a row in every segment that speaks of it."""

    def __init__(self, segment: ProcessSegment, codes: Codes) -> None:
        self._segment = segment
        self._codes = codes
        self._known: dict[int, _Task] = {}
        self._ended: list[int] = []
        self._written: set[int] = set()

    def describe(
        self, number: int, kind: int, name: str, code: int, parent: int, created: int
    ) -> None:
        """KeyError while the code is unknown."""
        if code:
            self._codes.place(code)
        self._known[number] = _Task(kind, name, code, parent, created)
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        self._write(number)

    def mention(self, number: int) -> None:
        """Something in this segment speaks of it."""
        if number not in self._written and number in self._known:
            self._write(number)

    def end(self, number: int) -> None:
        self._ended.append(number)

    def start_segment(self) -> None:
        """What ended before is forgotten; the others get their rows when they are mentioned."""
        for number in self._ended:
            self._known.pop(number, None)
        self._ended.clear()
        self._written.clear()

    def _write(self, number: int) -> None:
        task, segment = self._known[number], self._segment
        function = self._codes.place(task.code)[0] if task.code else -1
        created = task.created - segment.origin if task.created else -1
        segment.writer.append(
            "tasks", segment.row, number, task.kind, task.name, function, task.parent, created
        )
        self._written.add(number)
