"""Waits for an event loop in the view of locks, split by what the running task did."""

from __future__ import annotations

from dataclasses import replace

from sonde.recording.task_tables import TaskSteps
from sonde.views.loops.loop_locks import locks_and_loops
from views.loops.made import MS, TaskMaker, table


def test_what_a_task_did_is_estimated_from_the_samples_of_its_step() -> None:
    make = TaskMaker()
    make.task(1)
    make.task(2)
    for _ in range(15):
        make.ran(1, "coro1:1 > render:3", MS)
    for _ in range(5):
        make.ran(1, "coro1:1 > parse:7", MS)
    make.ran(2, "coro2:1 > after:1", MS)
    make.suspended(2, "coro2:1", 0, 0, ready=20)
    step = {"time": 0, "task": 1, "duration_ns": 20 * MS}
    recording = replace(make.tasked(), task_steps=table(TaskSteps, [step]))

    found = locks_and_loops(recording, by=("owner_task", "held_in_function"))
    (owner,) = found.rows
    assert (owner.value, owner.wait_ns) == ("task-1", 20 * MS)
    held = {row.value["name"]: row.wait_ns // MS for row in owner.children}
    assert held == {"render": 15, "parse": 5}
    assert found.held_samples == 20  # not that of the step after it
    assert locks_and_loops(recording, by=("owner_task",)).held_samples is None
