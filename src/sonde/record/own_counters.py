"""What the calling thread has used, by counters of its own: `sonde.thread_counters("page-faults")`.

Faults and context switches are what the kernel counts for each thread anyway: one getrusage(2)
returns all of them as of one moment, in a quarter of the time that a perf event takes. The others
are perf events. Of a group of these, which one read(2) returns, only the leader is up to date: the
rest are as of the thread's last context switch (Linux 6.18). They need no recording.
"""

from __future__ import annotations

import contextlib
import os
import resource
import struct
import threading
import time
from types import TracebackType
from typing import Any

from sonde import _inside
from sonde.errors import SondeError, UsageError

from .recorder.options import kernel_events
from .system import perf_events

MAX_COUNTERS = 8
DEFAULT = ("task-clock",)
USED = {
    "minor-faults": ("ru_minflt", "ru_nswap"),
    "major-faults": ("ru_majflt", "ru_nswap"),
    "page-faults": ("ru_minflt", "ru_majflt"),
    "context-switches": ("ru_nvcsw", "ru_nivcsw"),
}
"""Counters that are sums of two fields of getrusage(2); Linux leaves `ru_nswap` at 0."""


def _places(name: str) -> tuple[int, int]:
    fields: tuple[str, ...] = resource.struct_rusage.__match_args__
    one, other = USED[name]
    return fields.index(one), fields.index(other)


class _Process:
    forks = 0
    """A child has its parent's descriptors, which count the parent's threads."""


def _forked() -> None:
    _Process.forks += 1


os.register_at_fork(after_in_child=_forked)


_getrusage, _THREAD = resource.getrusage, resource.RUSAGE_THREAD
_VALUE = struct.Struct("<3Q")  # count, times enabled and running


class _Counts:
    """The counters of one thread; closed with it, because they are a local of the thread."""

    def __init__(self, events: list[kernel_events.KernelEvent]) -> None:
        self.forks = _Process.forks
        self.begun: list[list[tuple[int, ...]]] = []
        """What was read where the thread entered a `with` statement."""
        self.delta: dict[str, int] | None = None
        self.share = 1.0
        self._opened: list[int] = []
        """-1 for CPU time, and what getrusage returns."""
        for event in events:
            try:
                known = event.name in DEFAULT or event.name in USED
                self._opened.append(-1 if known else _open(event))
            except OSError as error:
                self.close()
                raise SondeError(kernel_events.refusal(event, error)) from None
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        self._used: list[tuple[int, int, int]] = []
        """Places in what getrusage returns, and their sum when the thread first asked."""
        for event in events:
            if event.name in USED:
                one, other = _places(event.name)
                self._used.append((one, other, int(usage[one] + usage[other])))
        self._order = [event.name in USED for event in events]
        self._only_used = all(self._order)

    def read(self) -> tuple[int, ...]:
        if self._only_used:
            usage: Any = _getrusage(_THREAD)
            return tuple([usage[one] + usage[other] - base for one, other, base in self._used])
        return tuple([count for count, _, _ in self.read_all()])

    def read_all(self) -> list[tuple[int, ...]]:
        """Of each its count, and the times enabled and running."""
        found: list[tuple[int, ...]] = []
        usage = _getrusage(_THREAD) if self._used else ()
        used = iter(self._used)
        for fd, is_used in zip(self._opened, self._order, strict=True):
            if is_used:
                one, other, base = next(used)
                found.append((int(usage[one] + usage[other]) - base, 0, 0))
            elif fd < 0:
                found.append((time.thread_time_ns(), 0, 0))
            else:
                found.append(_VALUE.unpack(os.read(fd, 24)))
        return found

    def close(self) -> None:
        for fd in self._opened:
            if fd >= 0:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._opened = []

    def __del__(self) -> None:
        self.close()


def _open(event: kernel_events.KernelEvent) -> int:
    try:
        return perf_events.open_own_counter(event.type, event.config, exclude_kernel=False)
    except PermissionError:
        return perf_events.open_own_counter(event.type, event.config, exclude_kernel=True)


class CountedSpan(_inside.span):
    """A span whose attributes are what counters of its thread counted in it."""

    __slots__ = ("_counters",)

    def __init__(self, name: str, counters: ThreadCounters) -> None:
        super().__init__(name)
        self._counters = counters

    # As in `_inside.span`, the caller of these two is who enters and leaves.

    def __enter__(self) -> CountedSpan:
        if _inside._agent is not None:
            self._number = _inside._agent.begin(self._name)
        self._counters.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._counters.__exit__(kind, error, trace)
        if self._number:
            for counter, value in self._counters.delta.items():
                self.set(counter, value)
            _inside._agent.end(self._number)


class ThreadCounters:
    """Counters of whichever thread asks; each thread begins at 0 when it asks first."""

    def __init__(self, *names: str) -> None:
        given = names or DEFAULT
        if len(given) > MAX_COUNTERS:
            raise UsageError(f"{len(given)} counters; give at most {MAX_COUNTERS}")
        self._events = [kernel_events.parse(name) for name in given]
        for event, name in zip(self._events, given, strict=True):
            if "@" in name or event.path:
                raise UsageError(f"invalid counter {name!r}; give an event without a period")
        self.names = tuple(event.name for event in self._events)
        if len(set(self.names)) < len(self.names):
            raise UsageError(f"a counter is given twice: {', '.join(given)}")
        self._local = threading.local()
        self._mine()  # what is refused is said here

    def read(self) -> tuple[int, ...]:
        """The counts of the calling thread, in the order of `names`."""
        if self.names == DEFAULT:
            return (time.thread_time_ns(),)
        try:
            counts: _Counts = self._local.counts
        except AttributeError:
            counts = self._mine()
        if counts.forks != _Process.forks:
            counts = self._mine()
        return counts.read()

    @property
    def delta(self) -> dict[str, int]:
        """What the calling thread counted in the last `with` statement that it left."""
        delta = self._mine().delta
        if delta is None:
            raise SondeError("this thread has not left a `with` statement of these counters yet")
        return delta

    @property
    def share(self) -> float:
        """Of that time, in which the events were counted: below 1 where the processor has fewer
        counters than are wanted."""
        return self._mine().share

    def __enter__(self) -> ThreadCounters:
        mine = self._mine()
        mine.begun.append(mine.read_all())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        mine = self._mine()
        if not mine.begun:  # it was entered in the parent of this process, or in another thread
            return
        now, then = mine.read_all(), mine.begun.pop()
        steps = [
            [late - early for late, early in zip(*pair, strict=True)]
            for pair in zip(now, then, strict=True)
        ]
        mine.delta = {name: step[0] for name, step in zip(self.names, steps, strict=True)}
        mine.share = min(running / enabled if enabled else 1.0 for _, enabled, running in steps)

    def span(self, name: str) -> CountedSpan:
        """A span that carries what was counted in it as attributes."""
        return CountedSpan(name, self)

    def _mine(self) -> _Counts:
        counts: _Counts | None = getattr(self._local, "counts", None)
        if counts is None or counts.forks != _Process.forks:
            if counts is not None:
                counts.close()  # a child's copies of the parent's
            counts = self._local.counts = _Counts(self._events)
        return counts
