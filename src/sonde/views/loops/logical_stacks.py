"""Logical stacks across tasks: what a task does is below the coroutine that awaits it.

A sample of a task shows the event loop above the task's coroutine. In a logical stack there is in
its place the coroutine of the task that awaits it, or else of the task that created it. What a
worker thread ran for an executor is below the coroutine that awaited the result.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError
from sonde.recording.tables import Contexts, Functions, Samples
from sonde.row_values import BUILT_IN, RUNNING, TASK, WAITING
from sonde.views.loops.task_locks import task_wait_table
from sonde.views.selecting.profile import identities
from sonde.views.selecting.task_filter import keys

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

NONE = -1
WAITS_FOR_LOOP = "[waits for the event loop]"
"""In place of a function: the task was ready, and others ran."""
MAX_TASKS = 64
"""Above one another; more than these wait for each other in a circle."""

_EXECUTOR = "concurrent/futures/thread.py"
_LOOP = "asyncio/events.py"


def logical(recording: Recording) -> Recording:
    """The same recording with logical stacks, and with samples for the time that tasks waited."""
    if not len(recording.tasks):
        raise UsageError(
            f"{recording.path} has no tasks; record them with: sonde run --what +tasks …"
        )
    return _Stacks(recording).recording()


class _Stacks:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        contexts = recording.contexts
        self._parent: list[int] = contexts.parent.tolist()
        self._function: list[int] = contexts.function.tolist()
        self._line: list[int] = contexts.line.tolist()
        self._children: dict[tuple[int, int, int], int] = {}
        self._grafts: dict[tuple[int, int, int], int] = {}
        _, identity = identities(recording)
        self._same: list[int] = identity.tolist()
        tasks = recording.tasks
        self._task = {key: row for row, key in enumerate(keys(tasks.process, tasks.id).tolist())}
        self._awaiters = self._by_task()
        self._explained = {
            (awaiter, context) for rows in self._awaiters.values() for _, awaiter, context in rows
        }
        """Tasks and coroutines of theirs below which another task is."""
        self._aboves: dict[tuple[int, int], int] = {}
        self._roots: dict[tuple[int, int], int] = {}

    def _by_task(self) -> dict[int, list[tuple[int, int, int]]]:
        """Of each task since when which one awaited it, and where."""
        table = self._recording.task_awaiters
        columns = (
            keys(table.process, table.task).tolist(),
            table.time.tolist(),
            keys(table.process, table.awaiter).tolist(),
            table.context.tolist(),
        )
        found: dict[int, list[tuple[int, int, int]]] = {}
        for task, time, awaiter, context in zip(*columns, strict=True):
            found.setdefault(task, []).append((time, awaiter, context))
        for rows in found.values():
            rows.sort()
        return found

    # ---- stacks

    def _child(self, parent: int, function: int, line: int) -> int:
        key = (parent, function, line)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = len(self._parent)
            self._parent.append(parent)
            self._function.append(function)
            self._line.append(line)
        return found

    def _graft(self, above: int, context: int, root: int) -> int:
        """The frames from `root` to `context`, below `above`."""
        key = (above, context, root)
        if key not in self._grafts:
            parent = above
            if context != root:
                parent = self._graft(above, self._parent[context], root)
            self._grafts[key] = self._child(parent, self._function[context], self._line[context])
        return self._grafts[key]

    def _path(self, context: int) -> list[int]:
        path = []
        while context >= 0:
            path.append(context)
            context = self._parent[context]
        return path

    def _root(self, task: int, context: int) -> int:
        """The outermost frame of the task's coroutine in the stack of a sample; NONE: none."""
        row = self._task.get(task, NONE)
        function = int(self._recording.tasks.function[row]) if row >= 0 else NONE
        key = (function, context)
        if key not in self._roots:
            self._roots[key] = self._find_root(function, context)
        return self._roots[key]

    def _find_root(self, function: int, context: int) -> int:
        path = self._path(context)
        if function >= 0:
            for node in reversed(path):
                if self._same[self._function[node]] == self._same[function]:
                    return node
        files = self._recording.functions.file
        for below, node in pairwise(path):
            if files[self._function[node]].endswith(_LOOP):
                return below
        return NONE

    def _above(self, task: int, time: int, depth: int = 0) -> int:
        """The logical stack that a task's coroutine is below."""
        rows = self._awaiters.get(task, [])
        place = max(bisect_right(rows, (time, 1 << 62, 0)) - 1, 0)
        key = (task, place)
        if key not in self._aboves:
            awaiter = rows[place] if rows else None
            is_circle = depth >= MAX_TASKS
            self._aboves[key] = NONE if is_circle else self._find_above(task, awaiter, depth)
        return self._aboves[key]

    def _find_above(self, task: int, awaited: tuple[int, int, int] | None, depth: int) -> int:
        if awaited is not None:
            since, awaiter, context = awaited
            above = self._above(awaiter, since, depth + 1)
            return self._whole(above, context) if context >= 0 else above
        tasks, row = self._recording.tasks, self._task.get(task, NONE)
        parent = int(tasks.parent[row]) if row >= 0 else 0
        creator = self._task.get(int(keys(tasks.process[row], parent)), NONE) if parent else NONE
        if creator < 0 or tasks.kind[creator] != TASK:
            return NONE
        key = int(keys(tasks.process[creator], tasks.id[creator]))
        above = self._above(key, max(int(tasks.created_ns[row]), 0), depth + 1)
        function = int(tasks.function[creator])
        if function < 0:
            return above
        return self._child(above, function, int(self._recording.functions.line[function]))

    def _whole(self, above: int, context: int) -> int:
        return self._graft(above, context, self._path(context)[-1])

    # ---- samples

    def recording(self) -> Recording:
        recording, samples = self._recording, self._recording.samples
        context = samples.context.astype(np.int64)
        process = recording.threads.process
        in_task = np.flatnonzero(samples.task != 0)
        task = keys(process[samples.thread[in_task]], samples.task[in_task])
        columns = (in_task, task, samples.time[in_task], context[in_task])
        for row, key, time, node in zip(*(column.tolist() for column in columns), strict=True):
            root = self._root(key, node)
            if root >= 0:
                context[row] = self._graft(self._above(key, time), node, root)
        spent = self._executors(context)
        waited = self._waited(spent)
        functions = recording.functions
        made = Contexts(
            np.array(self._parent, dtype=np.int32),
            np.array(self._function, dtype=np.int32),
            np.array(self._line, dtype=np.int32),
        )
        extended = Functions(
            [*functions.name, WAITS_FOR_LOOP],
            [*functions.file, BUILT_IN],
            np.append(functions.line, 0).astype(functions.line.dtype),
            [*functions.runtime, "cpython"],
        )
        return replace(
            recording,
            functions=extended,
            contexts=made,
            samples=_together(replace(samples, context=context.astype(np.int32)), waited),
        )

    def _executors(self, context: Ints) -> Ints:
        """Moves the samples of executors' workers; returns how much of each wait they explain."""
        recording, samples = self._recording, self._recording.samples
        waits, table, rows = (
            recording.task_waits, task_wait_table(recording), recording.task_resumptions
        )  # fmt: skip
        workers = _by_thread(samples)
        spent = np.zeros(len(waits), dtype=np.int64)
        known = np.flatnonzero(table.resumption >= 0)
        process = recording.threads.process
        for wait in known.tolist():
            row = int(table.resumption[wait])
            thread, end = int(rows.thread[row]), int(rows.time[row])
            if thread == int(waits.thread[wait]) or int(waits.context[wait]) < 0:
                continue
            task = int(keys(process[waits.thread[wait]], waits.task[wait]))
            # It may have begun before the task was suspended, in the same step.
            since = int(rows.since_ns[row])
            begin = end - since if since >= 0 else self._begin(task)
            found = workers.get(thread, np.zeros(0, dtype=np.int64))
            low, high = np.searchsorted(samples.time[found], [begin, end], side="right")
            mine = found[low:high]
            above = NONE
            for sample in mine.tolist():
                root = self._executed(int(samples.context[sample]))
                if root < 0:
                    continue
                if above == NONE:
                    above = self._whole(self._above(task, end), int(waits.context[wait]))
                context[sample] = self._graft(above, int(samples.context[sample]), root)
                if samples.time[sample] > table.start[wait]:
                    spent[wait] += int(samples.weight[sample])
        return spent

    def _begin(self, task: int) -> int:
        row = self._task.get(task, NONE)
        return int(self._recording.tasks.created_ns[row]) if row >= 0 else 0

    def _executed(self, context: int) -> int:
        """The outermost frame of what an executor's worker runs; NONE: it runs nothing."""
        files = self._recording.functions.file
        inside, found = False, NONE
        for node in reversed(self._path(context)):
            ours = files[self._function[node]].endswith(_EXECUTOR)
            inside |= ours
            if inside and not ours:
                found = node
                break
        return found

    def _waited(self, spent: Ints) -> Samples:
        """Samples for the time that tasks were suspended, where nothing below shows what went on
        meanwhile, and were ready."""
        recording, waits = self._recording, self._recording.task_waits
        times = recording.task_times
        process = recording.threads.process
        task = keys(process[waits.thread], waits.task)
        loop = len(recording.functions)
        thread: list[int] = []
        time: list[int] = []
        context: list[int] = []
        weight: list[int] = []
        of: list[int] = []

        def add(row_thread: int, at: int, node: int, ns: int, number: int) -> None:
            if ns > 0:
                thread.append(row_thread)
                time.append(at)
                context.append(node)
                weight.append(ns)
                of.append(number)

        written: dict[int, list[int]] = {}
        threads: dict[int, int] = {}
        columns = (
            task, waits.thread, waits.time, waits.ready_ns, waits.suspended_ns, waits.task,
            waits.context, spent,
        )  # fmt: skip
        for key, where, at, ready, suspended, number, node, explained in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            threads[key] = where
            row = self._task.get(key, NONE)
            if row < 0 or recording.tasks.kind[row] != TASK:
                continue
            total = written.setdefault(key, [0, 0])
            total[0] += suspended
            total[1] += ready
            above = self._above(key, at)
            here = self._whole(above, node) if node >= 0 else self._coroutine(above, row)
            if (key, node) not in self._explained:
                add(where, at - ready, here, suspended - explained, number)
            add(where, at, self._child(here, loop, 0), ready, number)
        # What was only added up.
        sums = (
            keys(times.process, times.task), times.time, times.suspended_ns, times.ready_ns,
            times.task,
        )  # fmt: skip
        rest: dict[int, list[int]] = {}
        for key, at, suspended, ready, number in zip(
            *(column.tolist() for column in sums), strict=True
        ):
            total = rest.setdefault(key, [0, 0, 0, number])
            total[0] = max(total[0], at)
            total[1] += suspended
            total[2] += ready
        for key, (at, suspended, ready, number) in rest.items():
            row = self._task.get(key, NONE)
            if row < 0 or key not in threads or recording.tasks.kind[row] != TASK:
                continue
            done = written.get(key, [0, 0])
            here = self._coroutine(self._above(key, at), row)
            if not any(known == key for known, _ in self._explained):
                add(threads[key], at, here, suspended - done[0], number)
            add(threads[key], at, self._child(here, loop, 0), ready - done[1], number)
        return Samples(
            thread=np.array(thread, dtype=np.uint32),
            time=np.array(time, dtype=np.int64),
            context=np.array(context, dtype=np.int32),
            weight=np.array(weight, dtype=np.int64),
            state=np.full(len(thread), WAITING, dtype=np.uint8),
            task=np.array(of, dtype=np.uint64),
        )

    def _coroutine(self, above: int, row: int) -> int:
        function = int(self._recording.tasks.function[row])
        if function < 0:
            return above
        return self._child(above, function, int(self._recording.functions.line[function]))


def _by_thread(samples: Samples) -> dict[int, Ints]:
    """The rows of each thread by time."""
    order = np.lexsort((samples.time, samples.thread))
    threads, first = np.unique(samples.thread[order], return_index=True)
    return dict(zip(threads.tolist(), np.split(order, first[1:]), strict=True))


def _together(samples: Samples, waited: Samples) -> Samples:
    """By time. What a task waits for on its own thread the other samples have."""
    keep = (samples.state == RUNNING) | (samples.task != 0)
    both = {
        name: np.concatenate([column[keep], getattr(waited, name)])
        for name, column in vars(samples).items()
    }
    order = np.argsort(both["time"], kind="stable")
    return Samples(**{name: column[order] for name, column in both.items()})
