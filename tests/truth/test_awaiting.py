"""What the tasks of a process await, read from its memory, beside what the program does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attaching import Target, until
from environments import wheels
from launching import Interpreter
from matrix import OLDEST_AND_NEWEST
from sonde.model.task_graph import TaskNow, TasksNow
from sonde.record.remote_tasks.snapshot import TaskReader
from truth.stacks import PROGRAMS

PROGRAM = PROGRAMS / "awaiting.py"


def settled(pid: int) -> TasksNow:
    """What is read once all tasks stand where they stay: after both deadlocks."""
    reader = TaskReader(pid)

    def read() -> TasksNow | None:
        now = reader.read()
        return now if len(now.deadlocks) == 2 else None

    now: TasksNow = until(read, "two deadlocks")
    return now


@pytest.fixture(scope="module", params=["waiting", "blocked"])
def now(request: pytest.FixtureRequest, python: Interpreter) -> Iterator[TasksNow]:
    with Target(python, PROGRAM, request.param) as target:
        yield settled(target.pid)
        assert target.alive


def named(now: TasksNow, name: str) -> TaskNow:
    (found,) = [task for task in now.tasks if task.name == name]
    return found


def awaited(now: TasksNow, name: str) -> set[str]:
    return {now.tasks[i].name for i in named(now, name).awaits}


def functions(task: TaskNow) -> list[str]:
    return [frame.name for frame in task.chain]


def test_tasks_that_await_each_other_are_named(now: TasksNow) -> None:
    cycles = sorted(sorted(now.tasks[i].name for i in cycle) for cycle in now.deadlocks)
    assert cycles == [["one", "two"], ["ping", "pong"]]
    assert awaited(now, "one") == {"two"}
    assert awaited(now, "two") == {"one"}
    assert named(now, "one").kind == named(now, "two").kind == "lock"
    assert (named(now, "ping").kind, awaited(now, "ping")) == ("task", {"pong"})


@pytest.mark.parametrize(
    ("name", "kind", "inner"),
    [
        ("consumer", "queue", "Queue.get"),
        ("sleeper", "sleep", "sleep"),
        ("event", "event", "Event.wait"),
        ("in_thread", "executor", "to_thread"),
        ("nested", "sleep", "sleep"),
    ],
)
def test_what_a_task_awaits(now: TasksNow, name: str, kind: str, inner: str) -> None:
    task = named(now, name)
    assert (task.state, task.kind, task.awaits) == ("suspended", kind, [])
    assert functions(task)[-1] == inner


def test_stacks_of_coroutines_have_their_lines(now: TasksNow) -> None:
    source = PROGRAM.read_text().splitlines()
    frames = named(now, "nested").chain
    assert [frame.name for frame in frames] == ["nested", "numbers", "long", "sleep"]
    lines = [source[frame.line - 1].strip() for frame in frames[:3]]
    assert lines == ["async for _ in numbers():", "await long()", "await asyncio.sleep(1000)"]


def test_tasks_that_others_await_together(now: TasksNow) -> None:
    assert len(awaited(now, "gatherer")) == 3
    assert awaited(now, "group") == {"member"}
    assert awaited(now, "shielded") == {"inner"}
    assert awaited(now, "any_of") == {"consumer", "sleeper"}
    assert not named(now, "any_of").needs_all


def test_the_loop_and_what_it_runs(now: TasksNow) -> None:
    (loop,) = now.loops
    assert loop.runtime == "asyncio"
    assert {task.tid for task in now.tasks} == {loop.tid}
    running = [task for task in now.tasks if task.state == "running"]
    if loop.stack is None:
        assert (loop.running, running) == (None, [])
        assert functions(named(now, "not begun"))[-1] == "sleep"
        return
    assert loop.running is not None
    assert running == [now.tasks[loop.running]]
    assert [frame.name for frame in loop.stack] == functions(running[0]) == ["main", "block"]
    ready = named(now, "not begun")
    assert (ready.state, functions(ready)) == ("ready", ["long"])


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_tasks_of_uvloop(python: Interpreter) -> None:
    packages = wheels("uvloop", ["uvloop>=0.21"], python)
    env = {"PYTHONPATH": packages}
    with Target(python, PROGRAM, "uvloop", "blocked", env=env) as target:
        now = settled(target.pid)
    assert [loop.runtime for loop in now.loops] == ["uvloop"]
    assert (named(now, "consumer").kind, awaited(now, "group")) == ("queue", {"member"})
    (loop,) = now.loops
    assert [frame.name for frame in loop.stack or []] == ["main", "block"]


def test_a_process_without_tasks(python: Interpreter) -> None:
    program = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    with Target(python, "-c", program) as target:
        assert TaskReader(target.pid).read() == TasksNow()
