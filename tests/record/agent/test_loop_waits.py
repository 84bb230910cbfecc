"""What recording tasks does to a program that waits in every way that asyncio has: nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launching import TARGETS, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST, soak
from sonde.row_values import TASK
from sonde.views.loops.logical_stacks import logical
from sonde.views.loops.loop_locks import locks_and_loops
from sonde.views.loops.tasks import tasks
from sonde.views.quality import quality
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import tree


@pytest.mark.parametrize("rounds", ["3", soak("60")])
def test_a_program_that_waits_in_every_way_is_as_without(
    rounds: str, python: Interpreter, keep: Callable[[str], Path]
) -> None:
    command = [python.path, TARGETS / "loop_waits.py", rounds]
    run = must_run(keep("loop-waits"), command, "--what", "+tasks")
    assert run.out == "[]\n"
    recording = run.recording
    table = recording.tasks
    assert len(set(zip(table.process.tolist(), table.id.tolist(), strict=True))) == len(table)
    known = set(table.id.tolist())
    assert set(recording.task_resumptions.task.tolist()) <= known
    assert set(recording.task_awaiters.awaiter.tolist()) <= known
    found = locks_and_loops(recording, by=("kind", "owner_chain", "waiter_chain"))
    assert found.total_ns == sum(row.wait_ns for row in found.rows)
    assert {"lock", "queue", "condition"} <= {row.value for row in found.rows}
    lives = [
        (row.life_ns, row.ended_ns - row.created_ns)
        for row in tasks(recording).rows
        if row.kind == "task" and row.created_ns is not None and row.ended_ns is not None
    ]
    assert lives
    for summed_up, life in lives:
        assert summed_up == pytest.approx(life, rel=0.02, abs=50_000)
    assert tree(logical(recording), Selection("wall")).total_ns > 0
    assert (table.kind == TASK).any()


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_version_of_uvloop_that_is_not_known_is_named(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    command = [python.path, TARGETS / "unknown_uvloop.py"]
    recording = must_run(keep("unknown-uvloop"), command, "--what", "+tasks").recording
    why = "sonde does not know this version of uvloop"
    assert recording.quality["why_no_tasks"] == why
    (problem,) = [one for one in quality(recording).problems if why in one.detail]
    assert "uvloop" in problem.detail
