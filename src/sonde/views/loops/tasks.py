"""What did each task of an event loop do: run, wait for the loop, or stay suspended?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.trees.context_tree import sums
from sonde.row_values import CALLBACK, TASK, TASK_GROUP, WOKEN, WOKEN_TASK, WOKEN_THREAD
from sonde.views.locks.contentions import contended
from sonde.views.loops.loop_lag import Loop, in_range, loops_of
from sonde.views.loops.task_locks import NUMBER, task_wait_table
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.task_filter import keys, tasks_called

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

ROW_KINDS = {TASK: "task", CALLBACK: "callback", TASK_GROUP: "tasks"}

Frames = list[dict[str, Any]]


@dataclass(frozen=True)
class Await:
    """Suspensions in one place, ended by one who resumes it."""

    chain: Frames | None
    """Outermost first; None: of all that had no record of their own."""
    suspended_ns: int
    count: int | None
    kind: str
    """Of WOKEN; of a lock or the like that another task or thread released or filled, its kind."""
    waker: int | None
    by: Frames | None = None
    """What the one who resumed it did then."""
    thread: str | None = None
    """The name of the other thread that resumed it."""
    executed: Function | None = None
    """What that thread had run for an executor."""

    def to_json(self) -> dict[str, Any]:
        return {
            "chain": self.chain,
            "suspended_ns": self.suspended_ns,
            "count": self.count,
            "resumed_by": {
                "kind": self.kind,
                "task": self.waker,
                "chain": self.by,
                "thread": self.thread,
                "function": None if self.executed is None else self.executed.to_json(),
            },
        }


@dataclass
class TaskRow:
    """A task, or together all calls of a callback or all short tasks of a coroutine function."""

    kind: str
    task: int | None
    name: str | None
    process: int
    coroutine: Function | None
    parent: int | None
    created_ns: int | None
    ended_ns: int | None
    running_ns: int = 0
    ready_ns: int = 0
    suspended_ns: int = 0
    caused_ns: int = 0
    steps: int = 0
    tasks: int = 1
    awaits: list[Await] = field(default_factory=list)

    @property
    def life_ns(self) -> int:
        return self.running_ns + self.ready_ns + self.suspended_ns

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "task": self.task,
            "name": self.name,
            "process": self.process,
            "coroutine": None if self.coroutine is None else self.coroutine.to_json(),
            "parent": self.parent,
            "created_ns": self.created_ns,
            "ended_ns": self.ended_ns,
            "running_ns": self.running_ns,
            "ready_ns": self.ready_ns,
            "suspended_ns": self.suspended_ns,
            "caused_ns": self.caused_ns,
            "steps": self.steps,
            "tasks": self.tasks,
            "awaits": [found.to_json() for found in self.awaits],
        }


@dataclass(frozen=True)
class Tasks:
    """Tasks by the time they waited for their loop, descending."""

    loops: list[Loop]
    rows: list[TaskRow]
    why_none: str = ""
    """Why there are no tasks."""

    def to_json(self) -> dict[str, Any]:
        return {
            "loops": [loop.to_json() for loop in self.loops],
            "rows": [row.to_json() for row in self.rows],
        }


def tasks(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> Tasks:
    selection = selection or Selection()
    if selection.thread is not None:
        raise UsageError("tasks belong to no thread; leave out --thread, or give --process")
    if selection.span is not None:
        raise UsageError("tasks are in no span; leave out --span, --attribute and --trace")
    rows = _rows(recording, selection)
    rows.sort(key=lambda row: (-row.ready_ns, -row.running_ns, -row.suspended_ns))
    return Tasks(loops_of(recording, selection), rows[:top], why_none(recording))


def why_none(recording: Recording) -> str:
    what = recording.target.get("what")
    if "tasks" not in (what if isinstance(what, list) else []):
        return "No tasks were recorded; record them with: sonde run --what +tasks …"
    why = recording.quality.get("why_no_tasks")
    return f"No tasks were recorded: {why}." if why else "No event loop took a step."


# ---- tasks


def _rows(recording: Recording, selection: Selection) -> list[TaskRow]:
    table, times = recording.tasks, recording.task_times
    if not len(table):
        return []
    own = keys(table.process, table.id)
    order = np.argsort(own)
    wanted = np.ones(len(table), dtype=bool)
    if selection.task is not None:
        wanted = tasks_called(recording, selection.task)
    if selection.process is not None:
        pids = [process.pid for process in recording.processes]
        threads_of(recording, selection)  # a usage error if there is no such process
        wanted &= np.array([pids[p] == selection.process for p in table.process.tolist()])
    place = _places(own, order, keys(times.process, times.task))
    keep = in_range(times.time, selection) & (place >= 0)
    place = place[keep]
    summed = {
        name: sums(place, getattr(times, name)[keep].astype(np.int64), len(table))
        for name in ("running_ns", "ready_ns", "suspended_ns", "caused_ns", "steps", "tasks")
    }
    last = np.full(len(table), -1, dtype=np.int64)
    np.maximum.at(last, place, times.time[keep])
    ended = np.zeros(len(table), dtype=bool)
    ended[place[times.ended[keep] == 1]] = True
    end = min(duration_ns(recording), selection.end_ns or 2**62)
    awaits = _awaits(recording, selection, own, order)
    found = []
    for row in np.flatnonzero(wanted & (last >= 0)).tolist():
        function, kind = int(table.function[row]), int(table.kind[row])
        created, parent = int(table.created_ns[row]), int(table.parent[row])
        made = TaskRow(
            kind=ROW_KINDS[kind],
            task=int(table.id[row]) if kind == TASK else None,
            name=table.name[row] if kind == TASK else None,
            process=recording.processes[int(table.process[row])].pid,
            coroutine=function_at(recording, function) if function >= 0 else None,
            parent=parent or None,
            created_ns=None if created == -1 else max(created, 0),
            ended_ns=int(last[row]) if ended[row] else None,
        )
        for name, column in summed.items():
            setattr(made, name, int(column[row]))
        if kind == TASK:
            made.tasks = 1
            if not ended[row]:  # it is suspended since its last step
                made.suspended_ns += max(end - int(last[row]), 0)
            made.awaits = _with_rest(awaits.get(row, []), made.suspended_ns)
        found.append(made)
    return found


def _places(own: Ints, order: Ints, wanted: Ints) -> Ints:
    """Rows of the tasks with these keys; -1: none."""
    sorted_ = own[order]
    at = np.minimum(np.searchsorted(sorted_, wanted), len(sorted_) - 1)
    return np.where(sorted_[at] == wanted, order[at], -1)


def function_at(recording: Recording, row: int) -> Function:
    table = recording.functions
    return Function(table.name[row], table.file[row], int(table.line[row]), table.runtime[row])


def _awaits(
    recording: Recording, selection: Selection, own: Ints, order: Ints
) -> dict[int, list[Await]]:
    waits = recording.task_waits
    if not len(waits):
        return {}
    process = recording.threads.process[waits.thread]
    place = _places(own, order, keys(process, waits.task))
    keep = in_range(waits.time, selection) & (place >= 0) & (waits.suspended_ns > 0)
    table, resumed = task_wait_table(recording), recording.task_resumptions
    by = [
        np.append(column.astype(np.int64), -1)[table.resumption]
        for column in (resumed.context, resumed.thread, resumed.function)
    ]
    other = (waits.woken == WOKEN_TASK) | (waits.woken == WOKEN_THREAD)
    kind = np.where(other & (table.kind != NUMBER["future"]), table.kind, -1)
    waker = np.where(waits.woken == WOKEN_TASK, waits.waker, 0)
    elsewhere = np.where(by[1] == waits.thread, -1, by[1])
    grouped: dict[tuple[int, ...], list[int]] = {}
    columns = (place, waits.context, waits.woken, kind, waker, by[0], elsewhere, by[2])
    lengths = waits.suspended_ns[keep].tolist()
    for key, ns in zip(
        zip(*(c[keep].tolist() for c in columns), strict=True), lengths, strict=True
    ):
        total = grouped.setdefault(key, [0, 0])
        total[0] += ns
        total[1] += 1
    found: dict[int, list[Await]] = {}
    chains: dict[int, Frames | None] = {-1: None}
    threads = contended(recording).thread_names
    for (row, context, woken, what, task, act, thread, executed), (ns, count) in grouped.items():
        for node in (context, act):
            if node not in chains:
                chains[node] = frames(recording, node)
        made = Await(
            chains[context],
            ns,
            count,
            KINDS[what] if what >= 0 else WOKEN[woken] if woken < len(WOKEN) else WOKEN[0],
            task or None,
            chains[act],
            threads[0][threads[1][thread]] if thread >= 0 else None,
            function_at(recording, executed) if executed >= 0 else None,
        )
        found.setdefault(row, []).append(made)
    return found


def _with_rest(awaits: list[Await], suspended_ns: int) -> list[Await]:
    """The longest first, and with what had no record of its own, if that is more than rounding."""
    awaits = sorted(awaits, key=lambda found: -found.suspended_ns)
    rest = suspended_ns - sum(found.suspended_ns for found in awaits)
    return [*awaits, Await(None, rest, None, WOKEN[0], None)] if rest > 0 else awaits


def frames(recording: Recording, context: int) -> Frames:
    """The functions of a context with the lines they stand at, outermost first."""
    contexts, functions = recording.contexts, recording.functions
    found: Frames = []
    while context >= 0:
        function = int(contexts.function[context])
        found.append(
            {
                "name": functions.name[function],
                "file": functions.file[function],
                "line": int(contexts.line[context]),
            }
        )
        context = int(contexts.parent[context])
    return found[::-1]
