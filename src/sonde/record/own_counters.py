"""What the calling thread has used, by counters of its own: `sonde.thread_counters("page-faults")`.

Each is a perf event of its own. Of a group, which one read(2) returns, only the leader is up to
date: the others are as of the thread's last context switch (Linux 6.18). They need no recording.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from types import TracebackType

from sonde import _inside
from sonde.errors import SondeError, UsageError

from .recorder.options import kernel_events
from .system import perf_events

MAX_COUNTERS = 8
DEFAULT = ("task-clock",)


class _Process:
    forks = 0
    """A child has its parent's descriptors, which count the parent's threads."""


def _forked() -> None:
    _Process.forks += 1


os.register_at_fork(after_in_child=_forked)


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
        """-1 for CPU time: the thread's clock is read in a fraction of the time."""
        for event in events:
            try:
                self._opened.append(-1 if event.name in DEFAULT else _open(event))
            except OSError as error:
                self.close()
                raise SondeError(kernel_events.refusal(event, error)) from None

    def read(self) -> tuple[int, ...]:
        return tuple(
            time.thread_time_ns() if fd < 0 else _VALUE.unpack(os.read(fd, 24))[0]
            for fd in self._opened
        )

    def read_all(self) -> list[tuple[int, ...]]:
        """Of each its count, and the times enabled and running."""
        return [
            (time.thread_time_ns(), 0, 0) if fd < 0 else _VALUE.unpack(os.read(fd, 24))
            for fd in self._opened
        ]

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
