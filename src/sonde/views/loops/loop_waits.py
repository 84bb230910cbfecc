"""Ready tasks that waited for their event loop, and the steps that ran meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sonde.row_values import RUNNING
from sonde.views.loops.loop_lag import in_range
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.task_filter import keys, of_task, rows_of_tasks, tasks_called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.trees.context_tree import Flags, Ints
    from sonde.recording.tables import Recording
    from sonde.recording.task_tables import TaskSteps, TaskWaits

NONE = -1
"""In place of a row: it is not known, or there is none."""


@dataclass(frozen=True)
class LoopPieces:
    """Parts of waits, each with the step that ran meanwhile."""

    recording: Recording
    wait: Ints
    """Row of `task_waits`; one more than the last: all waits that have no row."""
    ns: Ints
    step: Ints
    """Row of `task_steps`; NONE: no step with a row."""
    context: Ints
    """What the step did, by its samples; NONE: it has none, or that was not asked for."""

    def __len__(self) -> int:
        return len(self.wait)

    @property
    def total_ns(self) -> int:
        return int(self.ns.sum())

    @property
    def unknown_ns(self) -> int:
        return int(self.ns[self.step == NONE].sum())

    @cached_property
    def waiter(self) -> Ints:
        """Row of the task that waited."""
        return _tasks_of(self.recording, self.recording.task_waits)[self.wait]

    @cached_property
    def owner(self) -> Ints:
        """Row of the task or callback that ran."""
        return task_of_steps(self.recording)[self.step]

    @cached_property
    def thread(self) -> Ints:
        """Row of the loop's thread."""
        return np.append(self.recording.task_waits.thread.astype(np.int64), NONE)[self.wait]

    @cached_property
    def waiting_context(self) -> Ints:
        return np.append(self.recording.task_waits.context.astype(np.int64), NONE)[self.wait]

    @property
    def signals(self) -> Flags:
        return np.zeros(len(self), dtype=bool)

    after_notification = signals

    @property
    def held_samples(self) -> int:
        """The CPU samples of the steps for which others waited."""
        steps = np.unique(self.step[self.step != NONE])
        return sum(len(rows) for _, rows in samples_of_steps(self.recording, steps))

    def by_samples(self) -> LoopPieces:
        """Each piece divided among what the step's samples show, in proportion to their time."""
        found = activity(self.recording, np.unique(self.step[self.step != NONE]))
        columns: list[list[Ints]] = [[], [], [], []]
        order = np.argsort(self.step, kind="stable")
        bounds = np.flatnonzero(np.diff(self.step[order], prepend=-2))
        for rows in np.split(order, bounds[1:]):
            step = int(self.step[rows[0]]) if len(rows) else NONE
            contexts, shares = found.get(step, (np.array([NONE]), np.array([1.0])))
            # Rounding the running sum instead of each share loses nothing.
            running = np.rint(self.ns[rows][:, None] * np.cumsum(shares)).astype(np.int64)
            running[:, -1:] = self.ns[rows][:, None]
            parts = np.diff(running, axis=1, prepend=0)
            columns[0].append(np.repeat(self.wait[rows], len(contexts)))
            columns[1].append(parts.ravel())
            columns[2].append(np.repeat(self.step[rows], len(contexts)))
            columns[3].append(np.tile(contexts, len(rows)))
        wait, ns, steps, context = (np.concatenate(column) for column in columns)
        return LoopPieces(self.recording, wait, ns, steps, context)


def task_of_steps(recording: Recording) -> Ints:
    """By step, and last for none: the row of the task or callback that it was of; NONE: unknown."""
    return _tasks_of(recording, recording.task_steps)


def _tasks_of(recording: Recording, table: TaskWaits | TaskSteps) -> Ints:
    wanted = keys(recording.threads.process[table.thread], table.task)
    return np.append(rows_of_tasks(recording, wanted), NONE)


def loop_pieces(recording: Recording, selection: Selection) -> LoopPieces:
    """Of the selected loops' threads, in the selected time."""
    waits, steps = recording.task_waits, recording.task_steps
    threads = threads_of(recording, selection)
    keep = threads[waits.thread] & (waits.ready_ns > 0) & in_range(waits.time, selection)
    if selection.task is not None:
        keep &= of_task(recording, waits.thread, waits.task, selection.task)
    columns: list[list[Ints]] = [[], [], []]
    for thread in np.unique(waits.thread[keep]).tolist():
        rows = np.flatnonzero(keep & (waits.thread == thread))
        mine = np.flatnonzero(steps.thread == thread)
        mine = mine[np.argsort(steps.time[mine], kind="stable")]
        found = _overlaps(
            waits.time[rows] - waits.ready_ns[rows], waits.time[rows],
            steps.time[mine], steps.time[mine] + steps.duration_ns[mine],
        )  # fmt: skip
        for column, part in zip(
            columns,
            (rows[found[0]], np.append(mine, NONE)[found[1]], found[2]),
            strict=True,
        ):
            column.append(part)
    unwritten = _unwritten(recording, selection, int(waits.ready_ns[keep].sum()))
    if unwritten:
        for column, value in zip(columns, (len(waits), NONE, unwritten), strict=True):
            column.append(np.array([value]))
    empty = np.zeros(0, dtype=np.int64)
    wait, step, ns = (np.concatenate([empty, *column]) for column in columns)
    return LoopPieces(recording, wait, ns, step, np.full(len(wait), NONE))


def _unwritten(recording: Recording, selection: Selection, written: int) -> int:
    """The time of waits that were only added up."""
    times = recording.task_times
    if selection.thread is not None:
        return 0  # it is known of processes only
    chosen = threads_of(recording, replace(selection, thread=None))
    processes = np.unique(recording.threads.process[chosen])
    keep = np.isin(times.process, processes) & in_range(times.time, selection)
    if selection.task is not None:
        wanted = keys(recording.tasks.process, recording.tasks.id)
        wanted = wanted[tasks_called(recording, selection.task)]
        keep &= np.isin(keys(times.process, times.task), wanted)
    return max(int(times.ready_ns[keep].sum()) - written, 0)


def _overlaps(start: Ints, end: Ints, begin: Ints, until: Ints) -> tuple[Ints, Ints, Ints]:
    """Which steps, which follow one another, lie in which waits; what is left of a wait has -1."""
    first = np.searchsorted(until, start, side="right")
    count = np.maximum(np.searchsorted(begin, end, side="left") - first, 0)
    wait = np.repeat(np.arange(len(start)), count)
    step = np.arange(len(wait)) - np.repeat(np.cumsum(count) - count, count) + first[wait]
    ns = np.minimum(end[wait], until[step]) - np.maximum(start[wait], begin[step])
    ns = np.maximum(ns, 0)
    left = end - start - np.bincount(wait, weights=ns, minlength=len(start)).astype(np.int64)
    rest = np.flatnonzero(left > 0)
    return (
        np.concatenate([wait, rest]),
        np.concatenate([step, np.full(len(rest), NONE)]),
        np.concatenate([ns, left[rest]]),
    )


def activity(recording: Recording, steps: Ints) -> dict[int, tuple[Ints, Ints]]:
    """Of each step the contexts of its CPU samples, and their shares of its time."""
    samples = recording.samples
    found: dict[int, tuple[Ints, Ints]] = {}
    for step, rows in samples_of_steps(recording, steps):
        contexts, inverse = np.unique(samples.context[rows], return_inverse=True)
        weight = np.bincount(inverse, weights=samples.weight[rows])
        if weight.sum() > 0:
            found[step] = contexts.astype(np.int64), weight / weight.sum()
    return found


def samples_of_steps(recording: Recording, steps: Ints) -> Iterator[tuple[int, Ints]]:
    """The CPU samples of each step that has some."""
    table, samples = recording.task_steps, recording.samples
    for thread in np.unique(table.thread[steps]).tolist():
        rows = np.flatnonzero((samples.thread == thread) & (samples.state == RUNNING))
        rows = rows[np.argsort(samples.time[rows], kind="stable")]
        time = samples.time[rows]
        mine = steps[table.thread[steps] == thread]
        low = np.searchsorted(time, table.time[mine], side="right")
        high = np.searchsorted(time, table.time[mine] + table.duration_ns[mine], side="right")
        for step, begin, end in zip(mine.tolist(), low.tolist(), high.tolist(), strict=True):
            if begin < end:
                yield step, rows[begin:end]
