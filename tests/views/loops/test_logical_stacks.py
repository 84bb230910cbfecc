"""Stacks across tasks."""

from __future__ import annotations

import pytest

from sonde.errors import UsageError
from sonde.views.loops.logical_stacks import WAITS_FOR_LOOP, logical
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import tree
from synthetic import Maker
from views.loops.made import MS, TaskMaker


def paths(make: TaskMaker, selection: Selection | None = None) -> dict[str, int]:
    """Stacks with time of their own, in ms."""
    nodes = tree(logical(make.tasked()), selection or Selection()).nodes
    names: list[str] = []
    found: dict[str, int] = {}
    for node in nodes:
        above = "" if node.parent is None else names[node.parent] + " > "
        names.append(f"{above}{node.name}:{node.line}")
        if node.self_ns:
            found[names[-1]] = node.self_ns // MS
    return found


def awaited(make: TaskMaker, task: int, awaiter: int, chain: str, since: int = 0) -> None:
    make.awaiters.append(
        {"time": since * MS, "task": task, "awaiter": awaiter, "context": make.context(chain)}
    )


def test_a_task_is_below_the_coroutine_that_awaits_it() -> None:
    make = TaskMaker()
    for number in (1, 2, 3):
        make.task(number)
    awaited(make, 2, 1, "coro1:4 > gather:7")
    awaited(make, 3, 2, "coro2:9")
    make.ran(3, "coro3:2 > work:5", 6 * MS)
    make.ran(1, "coro1:8", 2 * MS)
    make.ran(0, "idle:1", 1 * MS)
    assert paths(make) == {
        "coro1:4 > gather:7 > coro2:9 > coro3:2 > work:5": 6,
        "coro1:8": 2,
        "_run_once:1 > idle:1": 1,
    }


def test_who_awaits_it_may_change() -> None:
    make = TaskMaker()
    for number in (1, 2, 3):
        make.task(number)
    awaited(make, 3, 1, "coro1:4", since=2)
    awaited(make, 3, 2, "coro2:4", since=8)
    for _ in range(3):  # at 4, 8 and 12 ms
        make.ran(3, "coro3:2", 4 * MS)
    assert paths(make) == {"coro1:4 > coro3:2": 4, "coro2:4 > coro3:2": 8}


def test_a_task_that_nobody_awaits_is_below_the_one_that_created_it() -> None:
    make = TaskMaker()
    make.task(1)
    make.task(2, parent=1)
    make.ran(2, "coro2:2", 4 * MS)
    assert paths(make) == {"coro1:1 > coro2:2": 4}


def test_tasks_that_await_each_other_end_somewhere() -> None:
    make = TaskMaker()
    make.task(1)
    make.task(2)
    awaited(make, 1, 2, "coro2:4")
    awaited(make, 2, 1, "coro1:4")
    make.ran(1, "coro1:2", 4 * MS)
    (path,) = paths(make)
    assert path.endswith("coro2:4 > coro1:2")


def test_suspended_time_counts_once() -> None:
    make = TaskMaker()
    make.task(1)
    make.task(2)
    awaited(make, 2, 1, "coro1:4")
    make.suspended(1, "coro1:4", 0, 20, by=2)
    make.suspended(2, "coro2:3 > sleep:9", 1, 11, woken=3, ready=5)
    make.ran(2, "coro2:2", 4 * MS)
    assert paths(make, Selection("wall")) == {
        "coro1:4 > coro2:3 > sleep:9": 10,
        f"coro1:4 > coro2:3 > sleep:9 > {WAITS_FOR_LOOP}:0": 5,
        "coro1:4 > coro2:2": 4,
    }


def test_the_work_of_an_executor_is_below_the_coroutine_that_awaits_it() -> None:
    make = TaskMaker()
    make.define("_WorkItem.run", "/usr/lib/python3.12/concurrent/futures/thread.py", 50)
    make.task(1)
    make.suspended(1, "coro1:4 > to_thread:25", 0, 20, woken=4)
    worker = make.thread("worker")
    for ns in (5, 5, 15):  # at 5, 10 and 25 ms: the last one is another's
        make.sample("_worker:1 > _WorkItem.run:58 > work:3", ns * MS, thread="worker")
        make.in_tasks.append(0)
    make.resumptions.append(
        {
            "thread": worker, "time": 20 * MS, "task": 1, "woken": 4, "since_ns": -1,
            "function": -1, "context": make.context("_WorkItem.run:60"),
        }
    )  # fmt: skip
    assert paths(make) == {
        "coro1:4 > to_thread:25 > work:3": 10,
        "_worker:1 > _WorkItem.run:58 > work:3": 15,
    }
    assert paths(make, Selection("wall"))["coro1:4 > to_thread:25"] == 10


def test_without_tasks_there_are_no_logical_stacks() -> None:
    make = Maker()
    make.sample("main:1")
    with pytest.raises(UsageError, match=r"has no tasks; record them with: .* --what \+tasks"):
        logical(make.recording())
