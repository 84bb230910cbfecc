"""The tasks of event loops in which threads waited for locks, and in which they held them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.model.locks.contention import UNKNOWN, Blames, Contentions, Flags, Ints
from sonde.row_values import RELEASED, TASK, WAIT_BEGIN
from sonde.views.selecting.task_filter import keys, rows_of_tasks, tasks_called

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


class LockTasks:
    """Names by number, and which one a wait or its owner has; UNKNOWN: none."""

    def __init__(self, recording: Recording, found: Contentions) -> None:
        self._recording = recording
        self._found = found
        tasks = recording.tasks
        numbers: dict[str, int] = {}
        code = [
            numbers.setdefault(name or str(number), len(numbers)) if kind == TASK else UNKNOWN
            for name, number, kind in zip(
                tasks.name, tasks.id.tolist(), tasks.kind.tolist(), strict=True
            )
        ]
        self.names = list(numbers)
        self._name = np.array([*code, UNKNOWN], dtype=np.int64)
        self._releases()

    def _releases(self) -> None:
        """Releases in tasks, by thread and lock, then by time."""
        events = self._recording.lock_events
        rows = np.flatnonzero(events.type == RELEASED)
        if not self.names or not events.task[rows].any():
            rows = rows[:0]
        self._moments = np.unique(events.time[rows])
        thread, lock = events.thread[rows].astype(np.int64), events.lock[rows].astype(np.int64)
        self._pairs = np.unique(self._pair(thread, lock))
        code = self._code(thread, lock, events.time[rows])
        order = np.argsort(code, kind="stable")
        self._release, self._codes = rows[order], code[order]

    def _pair(self, thread: Ints, lock: Ints) -> Ints:
        return thread * len(self._recording.locks) + lock

    def _code(self, thread: Ints, lock: Ints, time: Ints) -> Ints:
        """Ascends by pair, then by the last release at or before the time."""
        pair = np.searchsorted(self._pairs, self._pair(thread, lock))
        moment = np.searchsorted(self._moments, time, side="right")
        code: Ints = pair * (len(self._moments) + 1) + moment
        return code

    def waiters(self, contention: Ints) -> Ints:
        row = self._waiter_rows()
        return self._name[row[contention]]

    def are_of(self, wanted: str) -> Flags:
        """By contention: did a task wait that is called so?"""
        chosen = np.append(tasks_called(self._recording, wanted), False)
        flags: Flags = chosen[self._waiter_rows()]
        return flags

    def _waiter_rows(self) -> Ints:
        found = self._found
        task = tasks_of_waits(self._recording, found)
        process = self._recording.threads.process[found.thread]
        return np.where(task > 0, rows_of_tasks(self._recording, keys(process, task)), UNKNOWN)

    def owners(self, block: Blames) -> Ints:
        """Of each part the task that released the lock at its end, or had just done so."""
        events = self._recording.lock_events
        end = block.start + block.ns
        if not len(self._release):
            return np.full(len(block), UNKNOWN, dtype=np.int64)
        lock = self._found.lock[block.contention]
        known = np.isin(self._pair(block.thread, lock), self._pairs) & (block.thread != UNKNOWN)
        thread = np.where(known, block.thread, 0)
        at = np.searchsorted(self._codes, self._code(thread, lock, end), side="right") - 1
        row = self._release[np.maximum(at, 0)]
        known &= (at >= 0) & (events.thread[row] == thread) & (events.lock[row] == lock)
        known &= events.time[row] >= block.start
        process = self._recording.threads.process[thread]
        tasks = rows_of_tasks(self._recording, keys(process, events.task[row]))
        return self._name[np.where(known & (events.task[row] != 0), tasks, UNKNOWN)]


def tasks_of_waits(recording: Recording, found: Contentions) -> Ints:
    """The id of the task in which each wait began; 0: in none."""
    events = recording.lock_events
    begun = np.flatnonzero((events.task != 0) & (events.type == WAIT_BEGIN))
    columns = (events.thread[begun], events.lock[begun], events.time[begun], events.task[begun])
    known = {
        (thread, lock, time): task
        for thread, lock, time, task in zip(*(column.tolist() for column in columns), strict=True)
    }
    if not known:
        return np.zeros(len(found), dtype=np.int64)
    # The parts of one wait, and of one that began again, are of one task.
    first = found.wait
    waits = zip(found.thread.tolist(), found.lock.tolist(), found.start.tolist(), strict=True)
    task = np.fromiter((known.get(wait, 0) for wait in waits), np.int64, len(found))
    return np.where(task != 0, task, task[first])
