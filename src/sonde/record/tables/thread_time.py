"""What a thread's records weigh.

Each record carries two clocks, the time and the thread's CPU time. A running sample weighs the CPU
time since the last one; a wait weighs the time off the CPU since the last one. Together they are
the thread's life. This is done here and not in the agent because only the recorder knows where a
thread stood when it was armed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sonde.row_values import BEFORE, RUNNING, WAITING

from .thread_row import ThreadRow

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .process_cpu import ProcessCpu
    from .segment import ProcessSegment
    from .spans import Spans
    from .thread_names import ThreadNames

NO_PROCESSOR = -1


class SampleContext(NamedTuple):
    """Where a thread was: its context, and the innermost span that it was in."""

    context: int
    interpreter: int
    span: int = 0
    """The agent's number of it, which outlives a segment's rows; 0: none."""
    task: int = 0
    """Likewise."""


class ThreadTime(ThreadRow):
    """A thread, and how far its clocks have been reported."""

    def __init__(
        self,
        segment: ProcessSegment,
        names: ThreadNames,
        spans: Spans,
        process_cpu: ProcessCpu,
        tid: int,
        born: int,
        cpu: int,
        number: int,
    ) -> None:
        super().__init__(segment, names, tid, born, number)
        self._spans = spans
        self._process_cpu = process_cpu
        self.last_cpu = cpu
        self._cpu_born = self._cpu_given = self._cpu_told = self._cpu_untold = cpu
        self._turned_at, self._turned_cpu = born, cpu
        self._off_done = 0
        self._left_out = 0
        """Of the time since the segment began, what counts for no wait."""
        self._last_wait: SampleContext | None = None

    def account_until(self, now: int, cpu: int, counted: Container[str] | None) -> None:
        """From now on something else is captured; `counted` was since the last turn, None: a pause.

        What was not captured is given to no sample that comes later.
        """
        passed, used = now - self._turned_at, cpu - self._turned_cpu
        in_part = now - max(self._turned_at, self._segment.boundary)
        self._turned_at, self._turned_cpu = now, cpu
        if counted is None:
            self.born += passed
            self._cpu_born += used
            self._cpu_given += used
            self._cpu_told += used
            self._left_out += in_part
            self.last_time, self.last_cpu = now, cpu
            return
        if "cpu" not in counted:
            self._cpu_given += used
        if "waits" not in counted:
            self._off_done += passed - used
            self._left_out += max(in_part - used, 0)

    def running(
        self, now: int, cpu: int, place: SampleContext, processor: int = NO_PROCESSOR
    ) -> int:
        """The CPU time that it stands for."""
        segment, weight = self._segment, self._used(now, cpu)
        row, span = self.row(place.interpreter), self._spans.row(place.span)
        at = now - segment.origin
        segment.writer.append(
            "samples", row, at, place.context, weight, RUNNING, span, processor, place.task
        )
        return weight

    def chained(
        self, now: int, cpu: int, interpreter: int, link: int, line: int, processor: int
    ) -> None:
        """The same of a sample that shows only a function and its caller."""
        segment, weight = self._segment, self._used(now, cpu)
        row = self.row(interpreter)
        at = now - segment.origin
        segment.writer.append("chained", row, at, link, line, weight, -1, processor)

    def _used(self, now: int, cpu: int) -> int:
        """The CPU time that a running sample stands for."""
        if self._last_wait is not None:
            self.finish_wait(now, cpu)
        self.last_time, self.last_cpu = now, cpu
        # The agent reads the CPU clock only now and then; what was given too much meanwhile is
        # taken back from the next ones.
        weight = max(cpu - self._cpu_given, 0)
        self._cpu_given += weight
        self._process_cpu.sampled += weight
        self._process_cpu.samples += 1
        return weight

    def waited(
        self, now: int, cpu: int, place: SampleContext, state: int, goes_on: bool = False
    ) -> None:
        """A wait up to now; `goes_on` if it was seen from outside and has not ended."""
        self.last_time, self.last_cpu = now, cpu
        self._last_wait = place if goes_on else None
        off = (now - self.born) - (cpu - self._cpu_born)
        weight = off - self._off_done
        if weight <= 0:
            return
        self._off_done = off
        segment = self._segment
        row, span = self.row(place.interpreter), self._spans.row(place.span)
        append, context, task = segment.writer.append, place.context, place.task
        # What of it lies before the segment: the one before is closed, and alone this one must not
        # claim it.
        before = segment.boundary - (now - weight - self._left_out)
        if before > 0:
            before = min(before, weight)
            append("samples", row, BEFORE, context, before, state, span, NO_PROCESSOR, task)
            weight -= before
        at = now - segment.origin
        append("samples", row, at, context, weight, state, span, NO_PROCESSOR, task)

    def finish_wait(self, now: int, cpu: int) -> None:
        """Gives the rest of a wait seen from outside, up to now, to the chain it was seen in."""
        if self._last_wait is not None:
            self.waited(now, cpu, self._last_wait, WAITING)

    def write_end(self, end: int, cpu: int | None = None) -> None:
        """The end of its life, or of a part of it that ends with the segment."""
        segment = self._segment
        if self._unnamed is not None:
            self.set_thread_object(*self._unnamed)
        cpu = self.last_cpu if cpu is None else cpu
        used = max(cpu - self._cpu_told, 0)
        self._cpu_untold = self._cpu_told
        self._cpu_told += used
        name = self._names.reported.get(self.tid)
        for row in self.rows.values():
            segment.writer.update("threads", row, end_ns=end - segment.origin, cpu_ns=used)
            if name:
                segment.writer.update("threads", row, name=name)

    def goes_on(self) -> None:
        """It had not ended: what its rows say of its end will be written again."""
        self._cpu_told = self._cpu_untold
        self.ended_at = 0

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """It lives on in a new segment, where it has other rows."""
        wait, self._left_out = self._last_wait, 0
        if wait is not None:
            self._last_wait = wait._replace(context=remap(wait.context))
        known, self.rows = self.rows, {}
        for interpreter in known:
            self.row(interpreter)
