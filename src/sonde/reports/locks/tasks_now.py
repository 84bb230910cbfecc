"""The tasks of event loops at one moment: deadlocks first, then each loop, then who awaits whom."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sonde.model.task_graph import READY, RUNNING, SUSPENDED
from sonde.reports.layout.call_stack import on_one_line, program, spot
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.selecting.formatting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from sonde.model.task_graph import Frame, LoopNow, TaskNow, TasksNow

TOP = 20
"""Tasks shown by default, each with those that it awaits."""
MAX_DEPTH = 12
MAX_NAMED = 3
_KINDS = {
    "lock": "a lock",
    "semaphore": "a semaphore",
    "condition": "a condition",
    "event": "an event",
    "barrier": "a barrier",
    "queue": "a queue",
    "sleep": "a sleep",
    "child": "a child process",
    "executor": "another thread",
    "future": "a future",
}


def render(now: TasksNow, out: Console, *, top: int | None = None) -> None:
    for number, cycle in enumerate(now.deadlocks, 1):
        several = len(now.deadlocks) > 1
        heading(out, f"Deadlock of tasks {number}" if several else "Deadlock of tasks")
        for place, i in enumerate(cycle):
            _step(now, i, cycle[(place + 1) % len(cycle)], out)
        stuck = "These tasks" if len(cycle) > 1 else "This task"
        paragraph(out, f"{stuck} will never continue.", indent=2)
    for loop in now.loops:
        _loop(now, loop, out)
    if len(now.tasks) > sum(map(len, now.deadlocks)):
        heading(out, "Tasks")
        _Tree(now, out).show(top or TOP)


def _step(now: TasksNow, i: int, following: int, out: Console) -> None:
    task, other = now.tasks[i], printable(now.tasks[following].name)
    if task.kind == "lock":
        what: tuple[str | tuple[str, str], ...] = (
            (" waits for a lock that ", "dim"), "it" if i == following else other,
            (" holds" if i != following else " holds itself", "dim"),
        )  # fmt: skip
    else:
        what = ((" awaits ", "dim"), "itself" if i == following else other)
    line(out, f"  {printable(task.name)}", *what)
    for frame in program([frame.to_json() for frame in task.chain])[:MAX_DEPTH]:
        line(out, (f"      {shortened(spot(frame), out.width - 6)}", "dim"))


def _loop(now: TasksNow, loop: LoopNow, out: Console) -> None:
    kind = "" if loop.runtime == "asyncio" else f" ({loop.runtime})"
    heading(out, f"Event loop of {printable(loop.thread)}{kind}")
    if loop.stack is None:
        line(out, "  waits for events", (", no task runs", "dim"))
    else:
        who = "a callback" if loop.running is None else printable(now.tasks[loop.running].name)
        line(out, ("  runs ", "dim"), who)
        line(out, (f"      in {_where(loop.stack, out.width - 9)}", "dim"))
    states = Counter(task.state for task in now.tasks if task.tid == loop.tid)
    said = [f"{states[state]:,} {state}" for state in (RUNNING, READY, SUSPENDED) if states[state]]
    line(out, f"  {count(sum(states.values()), 'task')}", (f": {', '.join(said)}", "dim"))


def what_it_awaits(now: TasksNow, task: TaskNow, *, several: bool = False) -> str:
    """As a sentence about the task goes on, or about several."""
    verb = "await" if several else "awaits"
    if task.state != SUSPENDED:
        return task.state
    names = [printable(now.tasks[i].name) for i in task.awaits[:MAX_NAMED]]
    if len(task.awaits) > MAX_NAMED:
        names.append(f"{len(task.awaits) - MAX_NAMED:,} more")
    listed = ", ".join(names)
    if task.kind == "task":
        return f"{verb} {listed}" if task.needs_all or len(names) < 2 else f"{verb} any of {listed}"
    what = f"{verb} {_KINDS.get(task.kind or '', task.kind or 'a future')}"
    return f"{what} held by {listed}" if listed else what


class _Tree:
    """Whoever awaits a task is above it; those that are alike are one line."""

    def __init__(self, now: TasksNow, out: Console) -> None:
        self.now, self.out = now, out
        self._shown = {i for cycle in now.deadlocks for i in cycle}

    def show(self, top: int) -> None:
        awaited = {i for task in self.now.tasks if task.kind == "task" for i in task.awaits}
        places = range(len(self.now.tasks))
        roots = [i for i in places if i not in awaited] or [*places]
        self._rows(roots, 0, top)
        left = [i for i in places if i not in self._shown]
        self._rows(left, 0, top)

    def _rows(self, rows: Sequence[int], depth: int, top: int) -> None:
        alike: dict[object, list[int]] = {}
        for i in rows:
            if i not in self._shown:
                task = self.now.tasks[i]
                awaits = tuple(task.awaits) if task.kind == "task" else ()
                key = (task.tid, task.state, task.kind, tuple(task.chain), awaits)
                alike.setdefault(key, []).append(i)
        groups = sorted(alike.values(), key=lambda group: (_rank(self.now.tasks[group[0]]), group))
        self._shown.update(i for group in groups for i in group)
        for group in groups[:top]:
            self._task(group, depth)
            if depth < MAX_DEPTH and self.now.tasks[group[0]].kind == "task":
                self._rows(self.now.tasks[group[0]].awaits, depth + 1, top)
        if len(groups) > top:
            more = sum(map(len, groups[top:]))
            line(self.out, (f"{'  ' * (depth + 1)}… {count(more, 'more task')}", "dim"))

    def _task(self, group: list[int], depth: int) -> None:
        task, indent = self.now.tasks[group[0]], "  " * (depth + 1)
        name = printable(task.name)
        others = "" if len(group) == 1 else f" and {count(len(group) - 1, 'more task')}"
        stopped = ", its loop does not run" if task.tid is None else ""
        line(
            self.out,
            f"{indent}{name}{others} ",
            (f"{what_it_awaits(self.now, task, several=len(group) > 1)}{stopped}", "dim"),
        )
        if task.chain:
            where = _where(task.chain, self.out.width - len(indent) - 7)
            line(self.out, (f"{indent}    in {where}", "dim"))


def _rank(task: TaskNow) -> int:
    return (RUNNING, READY, SUSPENDED).index(task.state)


def _where(chain: Sequence[Frame], width: int) -> str:
    return on_one_line([frame.to_json() for frame in chain], max(width, 20))
