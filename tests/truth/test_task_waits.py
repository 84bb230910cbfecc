"""What tasks wait for in asyncio, and who ends it, beside what the program measured itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from environments import wheels
from launching import Interpreter, Run, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.views.loops.logical_stacks import WAITS_FOR_LOOP, logical
from sonde.views.loops.loop_locks import locks_and_loops
from sonde.views.loops.tasks import TaskRow, tasks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import Node, tree
from truth.stacks import PROGRAMS

ROUNDS = 2
EDGES_NS = 10_000_000
"""What beside other load passes between the program's own stamps and the edges of its waits."""
SENT = ("event", "queue", "condition", "barrier")


def record(python: Interpreter, keep: Callable[[str], Path], kind: str, **env: str) -> Run:
    return must_run(
        keep(f"awaits-{kind}-{python.version}"),
        [python.path, PROGRAMS / "awaits.py", kind, str(ROUNDS)],
        "--what", "+tasks",
        env=clean_environment(**env),
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    return record(python, keep, "c")


@pytest.fixture(scope="module")
def rows(recorded: Run) -> list[TaskRow]:
    return [row for row in tasks(recorded.recording).rows if row.kind == "task"]


def charged(run: Run) -> dict[str, dict[str, dict[str | None, int]]]:
    """The waiting of each task for each kind, by who is responsible."""
    found = locks_and_loops(run.recording, by=("kind", "waiter_task", "owner_task"))
    return {
        kind.value: {
            waiter.value: {owner.value: owner.wait_ns for owner in waiter.children}
            for waiter in kind.children
        }
        for kind in found.rows
    }


def check_waits(run: Run) -> None:
    found, told = charged(run), run.told["waited"]
    ready: dict[str | None, int] = {}
    for row in tasks(run.recording).rows:
        ready[row.name] = ready.get(row.name, 0) + row.ready_ns
    for kind in ("lock", "semaphore", *SENT, "future"):
        for task, ns in told[kind].items():
            if ns > ROUNDS * 2_000_000:
                # The program's own stamps have what passed until the task ran again.
                slack = EDGES_NS + ready[task]
                assert sum(found[kind][task].values()) == pytest.approx(ns, rel=0.02, abs=slack)
    for kind in ("lock", "semaphore"):
        for i in range(1, 4):
            owners = found[kind][f"{kind}-{i}"]
            assert set(owners) == {f"{kind}-{before}" for before in range(i)}
    for kind in (*SENT, "future"):
        assert set(found[kind][f"{kind}-waiter"]) == {f"{kind}-sender"}


def test_waits_are_charged_to_the_tasks_that_ended_them(recorded: Run) -> None:
    check_waits(recorded)


def test_both_stacks_of_a_wait_are_known(recorded: Run) -> None:
    found = locks_and_loops(
        recorded.recording, by=("kind", "waiter_function", "owner_chain", "waiter_chain")
    )
    kinds = {kind.value: kind for kind in found.rows}
    for name, inner in (("lock", "Lock.acquire"), ("queue", "Queue.get"), ("event", "Event.wait")):
        (waiter,) = [row for row in kinds[name].children if row.value["name"] == "waited"]
        assert waiter.wait_ns > 0
        for owner in waiter.children:
            assert "settle" in [frame["name"] for frame in owner.value]
            for chain in owner.children:
                assert chain.value[-1]["name"] == inner
    assert found.task_ns > 0
    assert found.total_ns == sum(kind.wait_ns for kind in found.rows)


def test_a_part_of_the_waits_is_that_of_one_task(recorded: Run) -> None:
    found = locks_and_loops(
        recorded.recording, Selection(task="lock-1"), by=("kind", "waiter_task")
    )
    waiters = {kind.value: {waiter.value for waiter in kind.children} for kind in found.rows}
    assert waiters.pop("loop", {None}) <= {"lock-1", None}  # short ones are only added up
    assert waiters["lock"] == {"lock-1"}
    assert set().union(*waiters.values()) == {"lock-1"}


def longest(rows: list[TaskRow], task: str) -> Any:
    return max(
        (found for row in rows if row.name == task for found in row.awaits),
        key=lambda found: found.suspended_ns,
    )


def test_what_resumed_a_task_is_named(rows: list[TaskRow]) -> None:
    resumed = {
        name: longest(rows, name)
        for name in ("lock-3", "semaphore-3", *(f"{kind}-waiter" for kind in (*SENT, "future")))
    }
    kinds = {name: found.kind for name, found in resumed.items()}
    assert kinds == {
        name: "task" if name == "future-waiter" else name.partition("-")[0] for name in resumed
    }
    names = {row.task: row.name for row in rows}
    assert names[resumed["queue-waiter"].waker] == "queue-sender"
    assert "settle" in [frame["name"] for frame in resumed["queue-waiter"].by]


def test_an_executors_work_is_joined_with_the_task_that_awaits_it(
    recorded: Run, rows: list[TaskRow]
) -> None:
    for name, outer in (("offload", "offload"), ("to-thread", "to_thread")):
        found = longest(rows, name)
        assert found.kind == "thread"
        assert found.thread.startswith("asyncio_")
        assert found.executed.name == "work"
        assert found.chain[0]["name"] == outer


def nodes_of(run: Run, selection: Selection) -> list[Node]:
    return tree(logical(run.recording), selection, merge_lines=True).nodes


def above(nodes: list[Node], node: Node) -> list[str]:
    names = []
    while node.parent is not None:
        node = nodes[node.parent]
        names.append(node.name)
    return names


def test_a_logical_tree_has_tasks_below_those_that_await_them(recorded: Run) -> None:
    nodes = nodes_of(recorded, Selection("wall"))
    stacks = {(node.name, *above(nodes, node)[:3]) for node in nodes}
    assert ("hold", "owned", "main", "start") in stacks  # gather
    assert ("one_after", "_wait", "wait", "sent") in stacks
    work = [above(nodes, node) for node in nodes if node.name == "work"]
    assert {"offload", "to_thread"} <= {name for names in work for name in names}
    assert all(names[-1] == "start" for names in work)
    (acquired,) = [node for node in nodes if node.name == "Lock.acquire"]
    told = sum(recorded.told["waited"]["lock"].values())
    waited = sum(
        node.total_ns
        for node in nodes
        if node.parent == acquired.id and node.name == WAITS_FOR_LOOP
    )
    assert acquired.self_ns + waited == pytest.approx(told, rel=0.02, abs=6 * EDGES_NS)


def test_work_of_an_executor_is_in_the_logical_tree(recorded: Run) -> None:
    def spent(nodes: list[Node]) -> int:
        return sum(node.total_ns for node in nodes if node.name == "work")

    physical = tree(recorded.recording, Selection(), merge_lines=True).nodes
    nodes = nodes_of(recorded, Selection())
    joined = sum(
        node.total_ns for node in nodes if node.name == "work" and "start" in above(nodes, node)
    )
    assert joined >= 0.9 * spent(physical) > 0


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_waits_in_uvloop_are_those_of_their_tasks(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    packages = wheels("uvloop", ["uvloop>=0.21"], python)
    run = record(python, keep, "uvloop", PYTHONPATH=os.fspath(packages))
    assert [loop.runtime for loop in tasks(run.recording).loops] == ["uvloop"]
    check_waits(run)
