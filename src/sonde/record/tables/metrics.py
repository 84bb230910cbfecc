"""The metrics of all threads of one process, step by step into the recording."""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import astuple
from typing import TYPE_CHECKING

from ..system.procfs import name_of, threads_of
from ..system.steal import StolenTime, cpu_includes_steal
from ..system.thread_counters import Countable, Counters
from ..system.thread_states import AGENT

if TYPE_CHECKING:
    from .segment import ProcessSegment
    from .threads import Threads

STEP_NS = 100_000_000


class Metrics:
    def __init__(self, segment: ProcessSegment, threads: Threads) -> None:
        self._segment = segment
        self._threads = threads
        self._countable = Countable()
        self._counters: dict[int, Counters] = {}
        self._fresh: set[int] = set()
        """Seen, and not reported yet."""
        self._taken = StolenTime(segment.pid)
        self._kernel_includes_steal = cpu_includes_steal()
        self._but: Container[int] = ()
        self._look()

    def step(self, but: Container[int] | None = None, *, reported: bool = True) -> None:
        """What each thread used since the last step, and what others took.

        `but` are ours, by default the same as before. In a pause it is counted and not reported, so
        that it is no part of the step after it.
        """
        segment = self._segment
        if but is not None:
            self._but = but
        alive = self._look()
        now = time.monotonic_ns()
        for tid, counters in list(self._counters.items()):
            if tid in self._but or self._becomes_ours(tid):
                counters.close()
                del self._counters[tid]
                continue
            self._report(tid, counters, now, reported=reported)
            if tid not in alive:
                self._threads.ended_unseen(tid, now, counters.cpu_ns)
                counters.close()
                del self._counters[tid]
        taken, processors = self._taken.step(reported=reported)
        if reported:
            segment.writer.target({"metrics_include_steal": self._includes_steal()})
            at = now - segment.origin
            segment.writer.append("machine", segment.row, at, *taken)
            for processor in processors:
                segment.writer.append("processors", segment.row, at, *processor)

    def _includes_steal(self) -> bool:
        # perf's clock is not stopped while the hypervisor has the processor (by its source: 6.18).
        return bool(self._countable.names) or bool(self._kernel_includes_steal)

    def ended(self, tid: int, *, reported: bool) -> None:
        """A thread's last step, for which it must still have a row."""
        counters = self._counters.pop(tid, None)
        if counters is not None:
            self._report(tid, counters, time.monotonic_ns(), reported=reported)
            counters.close()

    def _report(self, tid: int, counters: Counters, now: int, *, reported: bool) -> None:
        segment, used = self._segment, counters.step()
        row = self._threads.row(tid, now)  # idle ones have one too
        if used is not None and reported:
            segment.writer.append("metrics", row, now - segment.origin, *astuple(used))

    def close(self) -> None:
        for counters in self._counters.values():
            counters.close()
        self._counters.clear()

    def _look(self) -> set[int]:
        """Opens what is new; the threads that live."""
        pid = self._segment.pid
        alive = threads_of(pid)
        for tid in alive:
            if tid in self._counters or tid in self._but or self._is_ours(tid):
                continue
            self._counters[tid] = Counters(pid, tid, self._countable)
            self._fresh.add(tid)
        return alive

    def _is_ours(self, tid: int) -> bool:
        return name_of(self._segment.pid, tid).startswith(AGENT)

    def _becomes_ours(self, tid: int) -> bool:
        """A thread has its name a moment after it has begun, and may have been seen before."""
        if tid not in self._fresh:
            return False
        self._fresh.discard(tid)
        return self._is_ours(tid)
