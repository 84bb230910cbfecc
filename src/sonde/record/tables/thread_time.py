"""What a thread's records weigh.

Each record carries two clocks, the time and the thread's CPU time. A running sample weighs the CPU
time since the last one; a wait weighs the time off the CPU since the last one. Together they are
the thread's life. This is done here and not in the agent because only the recorder knows where a
thread stood when it was armed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from ..decode.target import TargetProcess

RUNNING, WAITING = 0, 1
# The time of a row that tells what of the next row's wait lies before the part.
BEFORE = -1
NO_PROCESSOR = -1
# What the agent says of a thread that was not started by the threading module.
NO_THREAD_OBJECT = 1


class Place(NamedTuple):
    """Where a thread was: its context, and the innermost span that it was in."""

    context: int
    interpreter: int
    span: int = 0
    """The agent's number of it, which outlives a part's rows; 0: none."""


class ThreadTime:
    def __init__(self, process: TargetProcess, tid: int, born: int, cpu: int, number: int) -> None:
        self._process = process
        self.tid = tid
        self.number = number
        """Tells it from all others that ever had its id."""
        self.ended_at = 0
        """When it was seen to be gone."""
        self.rows: dict[int, int] = {}
        """Its rows in the table of threads, by interpreter."""
        self.thread_object = self._seen_at = 0
        self.born = born
        self.last_time = born
        self.last_cpu = cpu
        self._cpu_born = self._cpu_given = self._cpu_told = self._cpu_untold = cpu
        self._turned_at, self._turned_cpu = born, cpu
        self._off_done = 0
        self._left_out = 0
        """Of the time since the part began, what counts for no wait."""
        self._last_wait: Place | None = None
        self._unnamed: tuple[int, int] | None = None

    def is_thread(self, thread_object: int, at: int) -> None:
        """Tells which threading.Thread this was at that time, known or not by now."""
        if self.thread_object or not thread_object:
            return
        if thread_object != NO_THREAD_OBJECT and thread_object not in self._process.names:
            self._unnamed = (thread_object, at)  # its name lies in another ring, or comes later
            return
        self.thread_object, self._seen_at = thread_object, at
        name = self._process.names.of(self.tid, thread_object, at)
        for row in self.rows.values():
            self._process.writer.update("threads", row, name=name)

    def turn(self, now: int, cpu: int, counted: Container[str] | None) -> None:
        """From now on something else is captured; `counted` was since the last turn, None: a pause.

        What was not captured is given to no sample that comes later.
        """
        passed, used = now - self._turned_at, cpu - self._turned_cpu
        in_part = now - max(self._turned_at, self._process.seam)
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

    def running(self, now: int, cpu: int, place: Place, processor: int = NO_PROCESSOR) -> int:
        """The CPU time that it stands for."""
        process, weight = self._process, self._used(now, cpu)
        row, span = self.row(place.interpreter), process.spans.row(place.span)
        at = now - process.origin
        process.writer.append("samples", row, at, place.context, weight, RUNNING, span, processor)
        return weight

    def chained(
        self, now: int, cpu: int, interpreter: int, link: int, line: int, processor: int
    ) -> None:
        """The same of a sample that tells only a function and its caller."""
        process, weight = self._process, self._used(now, cpu)
        row = self.row(interpreter)
        at = now - process.origin
        process.writer.append("chained", row, at, link, line, weight, -1, processor)

    def _used(self, now: int, cpu: int) -> int:
        """The CPU time that a running sample stands for."""
        process = self._process
        if self._last_wait is not None:
            self.finish_wait(now, cpu)
        self.last_time, self.last_cpu = now, cpu
        # The agent reads the CPU clock only now and then; what was given too much meanwhile is
        # taken back from the next ones.
        weight = max(cpu - self._cpu_given, 0)
        self._cpu_given += weight
        process.cpu.sampled += weight
        process.cpu.samples += 1
        return weight

    def waited(self, now: int, cpu: int, place: Place, state: int, goes_on: bool = False) -> None:
        """A wait up to now; `goes_on` if it was seen from outside and has not ended."""
        self.last_time, self.last_cpu = now, cpu
        self._last_wait = place if goes_on else None
        off = (now - self.born) - (cpu - self._cpu_born)
        weight = off - self._off_done
        if weight <= 0:
            return
        self._off_done = off
        process = self._process
        row, span = self.row(place.interpreter), process.spans.row(place.span)
        append, context = process.writer.append, place.context
        # What of it lies before the part: the one before is closed, and alone this one must not
        # claim it.
        before = process.seam - (now - weight - self._left_out)
        if before > 0:
            before = min(before, weight)
            append("samples", row, BEFORE, context, before, state, span, NO_PROCESSOR)
            weight -= before
        append("samples", row, now - process.origin, context, weight, state, span, NO_PROCESSOR)

    def finish_wait(self, now: int, cpu: int) -> None:
        """Gives the rest of a wait seen from outside, up to now, to the chain it was seen in."""
        if self._last_wait is not None:
            self.waited(now, cpu, self._last_wait, WAITING)

    def write_end(self, end: int, cpu: int | None = None) -> None:
        """The end of its life, or of a part of it that ends with the part."""
        process = self._process
        if self._unnamed is not None:
            self.is_thread(*self._unnamed)
        cpu = self.last_cpu if cpu is None else cpu
        used = max(cpu - self._cpu_told, 0)
        self._cpu_untold = self._cpu_told
        self._cpu_told += used
        name = process.names.told.get(self.tid)
        for row in self.rows.values():
            process.writer.update("threads", row, end_ns=end - process.origin, cpu_ns=used)
            if name:
                process.writer.update("threads", row, name=name)

    def goes_on(self) -> None:
        """It had not ended: what its rows say of its end will be written again."""
        self._cpu_told = self._cpu_untold
        self.ended_at = 0

    def renew(self, carried: Callable[[int], int]) -> None:
        """It lives on in a new part, where it has other rows."""
        wait, self._left_out = self._last_wait, 0
        if wait is not None:
            self._last_wait = wait._replace(context=carried(wait.context))
        known, self.rows = self.rows, {}
        for interpreter in known:
            self.row(interpreter)

    def row(self, interpreter: int) -> int:
        """Its row in the table of threads; a thread that runs two interpreters has two."""
        known = self.rows.get(interpreter)
        if known is not None:
            return known
        process = self._process
        start = max(self.born - process.origin, 0)
        name = process.names.of(self.tid, self.thread_object, self._seen_at)
        # Of a thread that ended before the segment only its identity is of interest here.
        end, cpu = (max(self.last_time - process.origin, 0), 0) if self.ended_at else (-1, -1)
        row = process.writer.append(
            "threads", process.row, self.tid, name, interpreter, start, end, cpu, self.number
        )
        self.rows[interpreter] = row
        return row
