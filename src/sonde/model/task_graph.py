"""Tasks of event loops at one moment: what each awaits, and which wait for each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUNNING, READY, SUSPENDED = "running", "ready", "suspended"


@dataclass(frozen=True)
class Frame:
    """A function and the line it is at."""

    name: str
    file: str
    line: int
    first_line: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "file": self.file,
            "line": self.line,
            "runtime": "cpython",
            "first_line": self.first_line,
        }


@dataclass(frozen=True)
class LoopNow:
    """An event loop that a thread runs."""

    tid: int
    runtime: str
    running: int | None
    """The task that it runs, by its place in the list."""
    stack: list[Frame] | None
    """What its step does, outermost first; None: the loop waits for events."""
    thread: str = ""


@dataclass(frozen=True)
class TaskNow:
    """One task; others are meant by their places in the list."""

    name: str
    tid: int | None
    """Of the thread that runs its loop; None: its loop does not run."""
    state: str
    chain: list[Frame]
    """Its coroutines, outermost first; of a running task also what they called."""
    kind: str | None = None
    """What a suspended task awaits."""
    awaits: list[int] = field(default_factory=list)
    """The tasks without which it does not continue: those it awaits, or who holds its lock."""
    needs_all: bool = True
    """Whether it waits for all of them; otherwise the first one is enough."""
    thread: str = ""
    wait: tuple[int, int] = (0, 0)
    """Of the process: the same as long as the same task awaits the same."""


@dataclass(frozen=True)
class TasksNow:
    loops: list[LoopNow] = field(default_factory=list)
    tasks: list[TaskNow] = field(default_factory=list)
    deadlocks: list[list[int]] = field(default_factory=list)
    """Each awaits the next, and the last one the first."""

    def named(self, threads: Mapping[int, str]) -> TasksNow:
        """With the names of threads by their tids."""
        return TasksNow(
            [replace(x, thread=threads.get(x.tid, str(x.tid))) for x in self.loops],
            [
                replace(x, thread="" if x.tid is None else threads.get(x.tid, str(x.tid)))
                for x in self.tasks
            ],
            self.deadlocks,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "loops": [
                {
                    "thread": loop.thread,
                    "tid": loop.tid,
                    "runtime": loop.runtime,
                    "running": loop.running,
                    "stack": None if loop.stack is None else [f.to_json() for f in loop.stack],
                }
                for loop in self.loops
            ],
            "tasks": [
                {
                    "name": task.name,
                    "thread": task.thread or None,
                    "tid": task.tid,
                    "state": task.state,
                    "chain": [frame.to_json() for frame in task.chain],
                    "kind": task.kind,
                    "awaits": task.awaits,
                }
                for task in self.tasks
            ],
            "task_deadlocks": self.deadlocks,
        }


def deadlocks(tasks: Sequence[TaskNow]) -> list[list[int]]:
    """Tasks that await each other: none will ever continue."""
    return cycles([x.awaits if x.needs_all or len(x.awaits) == 1 else [] for x in tasks])


def cycles(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The shortest cycle of each group of nodes that all lead to each other."""
    found = []
    left = set(range(len(edges)))
    while left:
        # What neither leads to another node nor is led to lies on no cycle.
        ends = {i for i in left if not any(to in left for to in edges[i])}
        reached = {to for i in left for to in edges[i] if to in left}
        if gone := ends | (left - reached):
            left -= gone
            continue
        cycle = _shortest(edges, min(left), left)
        if cycle:
            found.append(cycle)
        left -= set(cycle) or {min(left)}
    return sorted(found)


def _shortest(edges: Sequence[Sequence[int]], start: int, among: set[int]) -> list[int]:
    """From a node back to it; empty: it only leads to a cycle."""
    before: dict[int, int] = {}
    queue = [start]
    for node in queue:
        for to in edges[node]:
            if to == start:
                path = [node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if to in among and to not in before:
                before[to] = node
                queue.append(to)
    return []
