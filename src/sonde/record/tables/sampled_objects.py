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
# CPU time for each part of it in which windows are open, where that was not reported.
NOMINAL_FACTOR = 8.0
# Beyond so many, ends are not recorded: the memory of the recorder is bounded.
MAX_ALIVE = 1 << 20

_OLD = ("dict", "float", "list", "slice", "tuple")
_NEW = (
    "builtin_function_or_method", "dict", "float", "int", "list", "list_iterator", "method",
    "range", "range_iterator", "slice", "tuple", "tuple_iterator",
)  # fmt: skip
UNDERCOUNTED: dict[tuple[str, str], tuple[str, ...]] = {
    **{("cpython", version): _OLD for version in ("3.11", "3.12", "3.13")},
    **{("cpython", version): _NEW for version in ("3.14", "3.15")},
}
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
    in_window: bool = False
    """`every` is that of a window; the share of time that windows were open comes later."""
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
        self._in_windows: list[SampledObject] = []
        """They are written when it is known for how long windows were open."""
        self._share_until = 0
        self._every_factor = 0.0
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

    def set_share(self, until: int, open_ns: int, cpu_ns: float) -> None:
        """Windows were open for so long, of so much CPU time, until then."""
        self._share_until = until
        self._every_factor = cpu_ns / max(open_ns, 1)
        waiting, self._in_windows = self._in_windows, []
        for sampled in waiting:
            self.add(sampled)

    def finish(self, open_ns: int, cpu_ns: float) -> None:
        """No record comes any more: what is not known by now never will be.

        Windows were open for so long, of so much CPU time, since the last record of it.
        """
        for number in list(self._untyped):
            self.add(self._untyped.pop(number))
        if not open_ns or not cpu_ns:
            open_ns, cpu_ns = 1, self._every_factor or NOMINAL_FACTOR
        self.set_share(2**63, open_ns, cpu_ns)

    def add(self, sampled: SampledObject) -> None:
        if sampled.in_window:
            if sampled.time > self._share_until:
                self._in_windows.append(sampled)
                return
            sampled.every = round(sampled.every * self._every_factor)
            sampled.in_window = False
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
        for sampled in (*self._untyped.values(), *self._in_windows):
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
