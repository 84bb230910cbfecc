"""The text about the tasks of a process."""

from __future__ import annotations

import io

from sonde.model.task_graph import (
    READY,
    RUNNING,
    SUSPENDED,
    Frame,
    LoopNow,
    TaskNow,
    TasksNow,
    deadlocks,
)
from sonde.reports.layout.page import console
from sonde.reports.locks.tasks_now import render

TID = 7


def frame(name: str, line: int) -> Frame:
    return Frame(name, "/app/shop.py", line, 1)


def task(name: str, state: str = SUSPENDED, **rest: object) -> TaskNow:
    chain = [frame(name, 3)]
    return TaskNow(name, TID, state, **({"chain": chain} | rest))  # type: ignore[arg-type]


def text(tasks: list[TaskNow], loop: LoopNow) -> str:
    out = io.StringIO()
    now = TasksNow([loop], tasks, deadlocks(tasks)).named({TID: "MainThread"})
    render(now, console(out, 80))
    return out.getvalue()


IDLE = LoopNow(TID, "asyncio", None, None)


def test_tasks_that_hold_each_others_locks() -> None:
    tasks = [task("one", kind="lock", awaits=[1]), task("two", kind="lock", awaits=[0])]
    assert (
        text(tasks, IDLE)
        == """
Deadlock of tasks
  one waits for a lock that two holds
      one (shop.py:3)
  two waits for a lock that one holds
      two (shop.py:3)
  These tasks will never continue.

Event loop of MainThread
  waits for events, no task runs
  2 tasks: 2 suspended
"""
    )


def test_a_blocked_loop_and_who_awaits_whom() -> None:
    child = [frame("child", 5)]
    tasks = [
        task("main", kind="task", awaits=[1, 2]),
        task("Task-2", kind="sleep", chain=child),
        task("Task-3", kind="sleep", chain=child),
        task("blocker", RUNNING, chain=[frame("blocker", 8), frame("render", 9)]),
        task("late", READY),
    ]
    loop = LoopNow(TID, "uvloop", 3, tasks[3].chain)
    assert (
        text(tasks, loop)
        == """
Event loop of MainThread (uvloop)
  runs blocker
      in render (shop.py:9) < blocker
  5 tasks: 1 running, 1 ready, 3 suspended

Tasks
  blocker running
      in render (shop.py:9) < blocker
  late ready
      in late (shop.py:3)
  main awaits Task-2, Task-3
      in main (shop.py:3)
    Task-2 and 1 more task await a sleep
        in child (shop.py:5)
"""
    )


def test_one_lock_taken_twice() -> None:
    said = text([task("one", kind="lock", awaits=[0])], IDLE)
    assert "one waits for a lock that it holds itself" in said
    assert "This task will never continue." in said
