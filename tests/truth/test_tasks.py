"""Tasks of event loops beside what the program measured itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launching import Interpreter, Run, must_run
from matrix import soak
from sonde.views.findings.findings import findings
from sonde.views.loops.loop_locks import locks_and_loops
from sonde.views.loops.tasks import TaskRow, tasks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.stacks.tree import tree
from truth.stacks import PROGRAMS

ROUNDS = "30"
# The tasks of asyncio's Python code are the same on all versions.
KINDS = ("c", soak("python"))


@pytest.fixture(scope="module", params=KINDS)
def recorded(
    request: pytest.FixtureRequest, python: Interpreter, keep: Callable[[str], Path]
) -> Run:
    command = [python.path, PROGRAMS / "tasks.py", request.param, ROUNDS]
    return must_run(keep(f"tasks-{request.param}-{python.version}"), command, "--what", "+tasks")


@pytest.fixture(scope="module")
def rows(recorded: Run) -> dict[str | None, TaskRow]:
    return {row.name: row for row in tasks(recorded.recording).rows if row.kind == "task"}


def test_running_ready_and_suspended_are_the_tasks_own(
    recorded: Run, rows: dict[str | None, TaskRow]
) -> None:
    told = recorded.told
    for name in told["lives"]:
        row = rows[name]
        assert row.coroutine is not None
        assert row.coroutine.name == "live"
        assert row.created_ns is not None
        assert row.ended_ns is not None
        assert row.life_ns == pytest.approx(row.ended_ns - row.created_ns, rel=0.02)
    mine = [rows[name] for name in told["lives"]]
    # Their first steps are ready before the program's own clock starts.
    first = sum(row.life_ns for row in mine) - sum(told["lives"].values())
    running, suspended, ready = (
        sum(told[what].values()) for what in ("spent", "suspended", "ready")
    )
    assert sum(row.running_ns for row in mine) == pytest.approx(running, rel=0.1)
    assert sum(row.suspended_ns for row in mine) == pytest.approx(suspended, rel=0.1)
    assert sum(row.ready_ns for row in mine) - first == pytest.approx(ready, rel=0.1)
    main = rows["main"]
    assert rows["blocker"].parent == main.task


def test_each_place_of_suspension_has_its_coroutines(rows: dict[str | None, TaskRow]) -> None:
    row = rows["worker-0"]
    longest = row.awaits[0]
    assert [frame["name"] for frame in longest.chain or []] == ["live", "pause", "sleep"]
    assert longest.kind == "timer"
    assert sum(found.suspended_ns for found in row.awaits) == row.suspended_ns


def test_samples_are_of_the_task_that_ran(recorded: Run) -> None:
    recording = recorded.recording

    def time_in(function: str, task: str | None) -> int:
        rows = flat(recording, Selection(task=task)).rows
        return sum(row.total_ns for row in rows if row.function.name == function)

    rendered, answered = time_in("render", None), time_in("answer", None)
    assert rendered > 0
    assert time_in("render", "blocker") >= 0.995 * rendered
    assert sum(time_in("answer", f"worker-{i}") for i in range(4)) >= 0.995 * answered
    assert time_in("answer", "blocker") == 0
    assert time_in("render", "live") == time_in("render", "blocker")  # by coroutine function


def test_the_loop_knows_how_late_it_was(recorded: Run) -> None:
    (loop,) = tasks(recorded.recording).loops
    assert loop.runtime == "asyncio"
    longest = max(row.ready_ns for row in tasks(recorded.recording).rows)
    assert 12_000_000 * 0.5 < loop.lag.max <= longest
    assert loop.lag.mean <= loop.lag.p99 <= loop.lag.max


def test_waits_for_the_loop_are_charged_to_the_task_that_ran(recorded: Run) -> None:
    told = recorded.told["blamed"]
    found = locks_and_loops(recorded.recording, by=("kind", "waiter_task", "owner_task"))
    (loop,) = [row for row in found.rows if row.value == "loop"]
    assert found.loop_ns == loop.wait_ns
    charged = {
        (waiter.value, owner.value): owner.wait_ns
        for waiter in loop.children
        for owner in waiter.children
    }
    total = sum(ns for owners in told.values() for ns in owners.values())
    wrong = sum(
        abs(charged.get((waiter, owner), 0) - ns)
        for waiter, owners in told.items()
        for owner, ns in owners.items()
    )
    assert wrong <= 0.1 * total
    blocked = sum(ns for (waiter, owner), ns in charged.items() if owner == "blocker" and waiter)
    assert blocked == pytest.approx(sum(o.get("blocker", 0) for o in told.values()), rel=0.05)


def test_what_blocks_the_loop_is_found(recorded: Run) -> None:
    recording = recorded.recording
    profile = tree(recording, Selection("wall"), while_held="loop", merge_lines=True)
    held = {node.name: node.total_ns for node in profile.nodes}
    assert held["render"] >= 0.5 * profile.total_ns
    found = [f for f in findings(recording) if f.title.endswith("blocks the event loop")]
    assert [f.title for f in found] == ["spin blocks the event loop"]
    assert found[0].detail.startswith("live (tasks.py:")


@pytest.mark.versions("3.13")
def test_nothing_is_kept_of_tasks_that_nobody_asks_for(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    command = [python.path, PROGRAMS / "tasks.py", "c", "3"]
    recording = must_run(keep("tasks-unasked"), command).recording
    assert not len(recording.tasks)
    assert not recording.samples.task.any()
