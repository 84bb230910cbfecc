"""Sampled objects as they come out of the rings, and those of them that are alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .segment import ProcessSegment
    from .stacks.contexts import Contexts
    from .thread_row import ThreadRow

# The end of an object may be drained before its beginning, which lies in another ring.
MAX_EARLY = 1 << 16
# Beyond so many, ends are not recorded: the memory of the recorder is bounded.
MAX_ALIVE = 1 << 20

UNDERCOUNTED: dict[tuple[str, str], tuple[str, ...]] = {}
"""By runtime and minor version: types of which the runtime hides some allocations."""


def undercounted(runtime: str, version: str) -> tuple[str, ...]:
    return UNDERCOUNTED.get((runtime, ".".join(version.split(".")[:2])), ())


@dataclass(slots=True)
class SampledObject:
    thread: ThreadRow
    time: int
    context: int
    type: str
    """"" if it is not known."""
    size: int
    every: int
    address: int
    kind: int
    id: int
    """0: its end will not be reported."""
    row: int = -1


class SampledObjects:
    """Of one process; those alive are repeated in every segment."""

    def __init__(self, segment: ProcessSegment, contexts: Contexts) -> None:
        self._segment = segment
        self._contexts = contexts
        self._alive: dict[int, SampledObject] = {}
        self._early: dict[int, int] = {}
        """When objects ended whose beginning has not come yet."""
        self._survival = False
        self._untyped: dict[int, SampledObject] = {}
        """They are written when their type has come."""
        self._early_types: dict[int, tuple[str, int, int]] = {}
        """What objects are whose beginning has not come yet."""

    def await_type(self, sampled: SampledObject) -> None:
        """What the object is comes later: it was not made yet when its memory was allocated."""
        self._untyped[sampled.id] = sampled
        known = self._early_types.pop(sampled.id, None)
        if known is not None:
            self.set_type(sampled.id, *known)

    def set_type(self, number: int, type_: str, address: int, kind: int) -> None:
        sampled = self._untyped.pop(number, None)
        if sampled is not None:
            sampled.type, sampled.address, sampled.kind = type_, address, kind
            self.add(sampled)
            return
        self._early_types[number] = (type_, address, kind)
        if len(self._early_types) > MAX_EARLY:
            del self._early_types[next(iter(self._early_types))]

    def finish(self) -> None:
        """No record comes any more: what is not known by now never will be."""
        for number in list(self._untyped):
            self.add(self._untyped.pop(number))

    def add(self, sampled: SampledObject) -> None:
        number = sampled.id
        if number and len(self._alive) >= MAX_ALIVE:
            number = sampled.id = 0
        self._write(sampled)
        if not number:
            return
        ended = self._early.pop(number, None)
        if ended is None:
            self._alive[number] = sampled
        else:
            self._write_end(sampled.row, ended)

    def end(self, number: int, at: int) -> None:
        sampled = self._alive.pop(number, None)
        if sampled is not None:
            self._write_end(sampled.row, at)
            return
        self._early[number] = at
        if len(self._early) > MAX_EARLY:
            del self._early[next(iter(self._early))]

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """A new segment begins; threads have their new rows, or none yet."""
        self._survival = False
        for sampled in self._alive.values():
            if not sampled.thread.is_listed:
                sampled.thread.rows = {}  # of a thread that is over, in an old segment
        for sampled in self._alive.values():
            sampled.context = remap(sampled.context)
            self._write(sampled)
        for sampled in self._untyped.values():
            sampled.context = remap(sampled.context)
            if not sampled.thread.is_listed:
                sampled.thread.rows = {}

    def _write(self, sampled: SampledObject) -> None:
        segment = self._segment
        if sampled.id and not self._survival:
            self._survival = True
            segment.writer.update("processes", segment.row, survival=1)
        type_ = self._contexts.type(sampled.type, segment.runtime) if sampled.type else -1
        sampled.row = segment.writer.append(
            "objects", sampled.thread.row(0), sampled.time - segment.origin, sampled.context,
            type_, sampled.size, sampled.every, sampled.address, sampled.kind, sampled.id,
        )  # fmt: skip

    def _write_end(self, row: int, at: int) -> None:
        # 0 is that of an object that is alive.
        self._segment.writer.append("object_ends", row, max(at - self._segment.origin, 1))
