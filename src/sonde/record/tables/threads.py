"""The threads of one process: their lives and their rows."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from sonde.recording.format.schema import VIRTUAL_TID
from sonde.row_values import WAITING

from ..system.procfs import birth_of, born_ticks, cpu_of, has_thread, name_of, threads_of
from ..system.thread_states import AGENT
from .thread_time import SampleContext, ThreadTime

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .active_sampler import Sampling
    from .process_cpu import ProcessCpu
    from .segment import ProcessSegment
    from .spans import Spans
    from .thread_names import ThreadNames

# A reader looks at every waiting thread this often at least, which is twice LOOK_NS of
# native/core/sampling/reader_thread.c: one not seen for longer had ended.
LOOK_NS = 100_000_000

# Other threads may mention one that has ended: their rings are read later than its own. So many
# are remembered.
MAX_ENDED = 4096

# Threads that had ended before anybody could ask when they were born.
_UNKNOWN = 1 << 63
_unknown = itertools.count(int.from_bytes(os.urandom(4), "little") << 24)


class OpenLockWait(NamedTuple):
    """A wait that had not ended when somebody looked."""

    time: int
    cpu: int
    place: SampleContext
    thread_object: int


class Threads:
    def __init__(
        self,
        segment: ProcessSegment,
        sampling: Sampling,
        names: ThreadNames,
        spans: Spans,
        process_cpu: ProcessCpu,
    ) -> None:
        self._segment = segment
        self._sampling = sampling
        self._names = names
        self._spans = spans
        self._process_cpu = process_cpu
        self._times: dict[int, ThreadTime] = {}
        self._ended: dict[int, ThreadTime] = {}
        """The last thread that had an id and has ended, oldest first."""
        self._open_waits: dict[int, OpenLockWait] = {}
        self._virtual_rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._times)

    def time_of(self, tid: int, seen: int, born: int = 0) -> ThreadTime:
        """Of a thread that was seen then; when it was born is asked for only if nobody knows.

        A thread is its id and the moment it was started, so each has one place here, whatever was
        lost of its records and in which order they are read.
        """
        time_ = self._times.get(tid)
        if time_ is None:
            time_ = self._revived(tid, seen) or self._add(tid, seen, born)
        return time_

    def claimed(self, tid: int, at: int, born: int) -> ThreadTime:
        """Of a thread that took a slot then; another one may have had its id before."""
        pid, known = self._segment.pid, self._times.get(tid)
        if known is not None and not known.number & _UNKNOWN:
            number = born_ticks(pid, tid)
            if number not in (0, known.number) and at >= birth_of(pid, tid):
                self.ended(tid, known)
        past = self._ended.get(tid)
        if past is not None and at > past.last_time and not has_thread(pid, tid):
            return self._add(tid, at, born)  # it has ended, too
        return self.time_of(tid, at, born)

    def _add(self, tid: int, seen: int, born: int) -> ThreadTime:
        start, cpu = self._baseline_of(tid)
        start = start or born or birth_of(self._segment.pid, tid) or seen
        number = self._number_of(tid)
        time_ = ThreadTime(
            self._segment, self._names, self._spans, self._process_cpu, tid, start, cpu, number
        )
        self._list(time_)
        return time_

    def _list(self, time_: ThreadTime) -> None:
        before = self._times.get(time_.tid)
        if before is not None:
            before.is_listed = False
        time_.is_listed = True
        self._times[time_.tid] = time_

    def _revived(self, tid: int, seen: int) -> ThreadTime | None:
        """A thread that counts as ended, if it was the one with this id at that time."""
        time_ = self._ended.get(tid)
        if time_ is None:
            return None
        number = born_ticks(self._segment.pid, tid)
        if number and number == time_.number:  # it lives after all
            self._list(self._ended.pop(tid))
            time_.goes_on()
            return time_
        is_later = number and seen >= birth_of(self._segment.pid, tid)
        return time_ if seen <= time_.ended_at and not is_later else None

    def _baseline_of(self, tid: int) -> tuple[int, int]:
        """When a thread's life in this recording began and its CPU time at that moment."""
        armed = self._sampling.armed
        if armed is not None and tid in armed.baseline:
            return armed.baseline[tid]
        return 0, 0

    def row(self, tid: int, seen: int) -> int:
        """A row of the thread's, whichever interpreter it runs."""
        time_ = self.time_of(tid, seen)
        return next(iter(time_.rows.values())) if time_.rows else time_.row(0)

    def _number_of(self, tid: int) -> int:
        """Distinguishes a thread from all others that ever had its id, in every segment."""
        return born_ticks(self._segment.pid, tid) or _UNKNOWN | next(_unknown)

    def thread_objects(self) -> set[int]:
        """Of all that may still be mentioned."""
        known = itertools.chain(self._times.values(), self._ended.values())
        return {time_.thread_object for time_ in known}

    # ---- those that the kernel does not know

    def virtual_row(self, number: int, now: int) -> int:
        """The row of a thread that the kernel does not know, by the number its runtime gave it.

        In the place of a thread id it has that number, above all that the kernel gives.
        """
        row = self._virtual_rows.get(number)
        if row is None:
            segment = self._segment
            row = self._virtual_rows[number] = segment.writer.append(
                "threads", segment.row, VIRTUAL_TID | number & (VIRTUAL_TID - 1),
                self._names.of_virtual(number), 0, max(now - segment.origin, 0), -1, -1, number,
            )  # fmt: skip
        return row

    def virtual_is(self, number: int, name: str) -> None:
        """What a thread is called that may have been seen before."""
        segment = self._segment
        if number not in self._names and number in self._virtual_rows:
            segment.writer.update("threads", self._virtual_rows[number], name=name)
        self._names.add_virtual(number, name)

    # ---- waits that are seen, but not their ends

    def set_open_wait(self, tid: int, wait: OpenLockWait) -> None:
        """A thread was seen waiting; whether that wait ever ends is not known yet."""
        if tid not in self._times and name_of(self._segment.pid, tid).startswith(AGENT):
            return  # the agent's own, which wanted the GIL just then
        time_ = self.time_of(tid, wait.time)
        time_.set_thread_object(wait.thread_object, wait.time)
        if self._sampling.polls_waits:
            time_.waited(wait.time, wait.cpu, wait.place, WAITING, goes_on=True)
        else:
            self._open_waits[tid] = wait

    def clear_open_wait(self, tid: int) -> None:
        """It has reported itself how long it waited."""
        self._open_waits.pop(tid, None)

    # ---- CPU time

    def account_until(self, counted: Container[str] | None) -> None:
        """Something else is captured from now on; `counted` was until now, None: a pause."""
        for tid, time_ in self._times.items():
            if cpu := cpu_of(self._segment.pid, tid):
                time_.account_until(time.monotonic_ns(), cpu, counted)

    def unreported_cpu(self) -> int:
        """What those that live have used since each last reported."""
        pid = self._segment.pid
        return sum(max(cpu_of(pid, tid) - time_.last_cpu, 0) for tid, time_ in self._times.items())

    # ---- their ends

    def ended_unseen(self, tid: int, now: int, cpu: int) -> None:
        """A thread is over; one that never reported anything itself ended about now."""
        time_ = self._times.get(tid)
        if time_ is not None and time_.last_time == time_.born:
            time_.last_time = now
            time_.last_cpu += cpu

    def ended(self, tid: int, whose: ThreadTime | None = None) -> None:
        """A thread is over, and all its records were read; `whose` if its id may be another's."""
        time_ = self._times.get(tid)
        if time_ is None or (whose is not None and whose is not time_):
            return
        del self._times[tid]
        time_.is_listed = False
        time_.write_end(time_.last_time)
        time_.ended_at = time.monotonic_ns()
        self._ended.pop(tid, None)
        self._ended[tid] = time_
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]

    def end_part(self, now: int) -> None:
        """Those that live go on in the next."""
        pid = self._segment.pid
        alive = threads_of(pid)
        for tid, time_ in self._times.items():
            if tid in alive or has_thread(pid, tid):
                time_.write_end(now, max(time_.last_cpu, cpu_of(pid, tid)))
            else:
                time_.write_end(time_.last_time)

    def start_segment(self, remap: Callable[[int], int]) -> None:
        """All rows are new ones."""
        self._virtual_rows.clear()
        for tid, wait in self._open_waits.items():
            place = wait.place._replace(context=remap(wait.place.context))
            self._open_waits[tid] = wait._replace(place=place)
        # A ring that is read in this segment may mention a thread that ended in the last one.
        self._ended = {tid: time_ for tid, time_ in self._ended.items() if time_.rows}
        for time_ in self._ended.values():
            time_.rows = {}
        for time_ in self._times.values():
            time_.start_segment(remap)

    def finish(self, now: int, *, ended: bool) -> None:
        """The recording is over; `ended`: because the process is."""
        pid, polls_waits = self._segment.pid, self._sampling.polls_waits
        alive = set() if ended else threads_of(pid)
        for tid, time_ in self._times.items():
            wait = self._open_waits.get(tid)
            if wait is not None:
                # It was in this wait when last seen, and reported no end: it is in it still.
                time_.waited(now, wait.cpu, wait.place, WAITING)
                time_.write_end(now)
            elif (
                tid in alive
                or (not ended and has_thread(pid, tid))
                or (polls_waits and now - time_.last_time < LOOK_NS)
            ):
                time_.finish_wait(now, time_.last_cpu)
                time_.last_cpu = max(time_.last_cpu, cpu_of(pid, tid))
                time_.write_end(now)
            else:
                time_.write_end(time_.last_time)
