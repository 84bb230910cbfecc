"""Tasks of event loops in lines, as `sonde top` shows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.model.task_graph import READY, RUNNING, SUSPENDED
from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import clipped, printable, shortened
from sonde.reports.layout.page import heading, line
from sonde.reports.live.process import TOP, fits, mark
from sonde.reports.locks.tasks_now import what_it_awaits
from sonde.views.selecting.formatting import brief, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.model.task_graph import TasksNow
    from sonde.reports.live.process import Parts

TASK_SORTS = ("state", "since", "name")
_ORDER = (RUNNING, READY, SUSPENDED)
_STYLE = {RUNNING: "bold", SUSPENDED: "dim"}


@dataclass(frozen=True)
class TasksSeen:
    now: TasksNow
    lasted: list[int]
    """Of each task: for how long at least it has awaited what it awaits."""


def tasks(
    seen: TasksSeen, width: int, *, sort: str = "state", search: str = ""
) -> tuple[Parts, list[Parts]]:
    """Those that await each other first, then the running, the ready and the suspended ones."""
    stuck = {i for cycle in seen.now.deadlocks for i in cycle}
    rows = [
        (i, task, f"{'DEADLOCK: ' if i in stuck else ''}{_doing(seen.now, i)}")
        for i, task in enumerate(seen.now.tasks)
    ]
    rows = [row for row in rows if fits(search, row[1].name, row[2])]
    rows.sort(key=lambda row: -seen.lasted[row[0]])
    if sort == "name":
        rows.sort(key=lambda row: row[1].name)
    elif sort == "state":
        rows.sort(key=lambda row: (row[0] not in stuck, _ORDER.index(row[1].state)))
    title = f"{mark('state', sort):>10}{mark('since', sort):>10}  "
    title += f"{mark('task', 'task' if sort == 'name' else ''):<18}  "
    states = Counter(task.state for task in seen.now.tasks)
    title += ", ".join(f"{states[state]:,} {state}" for state in _ORDER if states[state])
    body: list[Parts] = []
    for i, task, doing in rows:
        style = "bold" if i in stuck else _STYLE.get(task.state, "")
        since = brief(seen.lasted[i]) if seen.lasted[i] else ""
        figures = f"{task.state:>10}{since:>10}  {shortened(printable(task.name), 18):<18}  "
        body.append([figures, (clipped(doing, max(width - 43, 8)), style)])
    return [(title, "bold")], body


def _doing(now: TasksNow, i: int) -> str:
    task = now.tasks[i]
    where = on_one_line([frame.to_json() for frame in task.chain], 200) if task.chain else ""
    if task.state != SUSPENDED:
        return where
    return f"{what_it_awaits(now, task)} in {where}" if where else what_it_awaits(now, task)


def render(seen: TasksSeen, out: Console) -> None:
    if not seen.now.tasks:
        return
    top, body = tasks(seen, out.width)
    heading(out, "Tasks")
    line(out, *top)
    for parts in body[:TOP]:
        line(out, *parts)
    if len(body) > TOP:
        line(out, (f"{'…':>10} {count(len(body) - TOP, 'more row')}", "dim"))
