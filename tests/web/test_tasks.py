"""The part with tasks of event loops carries what the views count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sonde.recording.tables import Recording
from sonde.recording.task_tables import LoopTimes, Tasks, TaskSteps, TaskTimes, TaskWaits
from sonde.row_values import CALLBACK, TASK, WOKEN_TASK
from sonde.views.loops.loop_locks import locks_and_loops
from sonde.views.loops.tasks import tasks
from sonde.web.bundle import Bundle
from synthetic import MS, Maker
from web.test_bundle import columns_of, meta_of, zigzagged

TASK_COLUMNS = 6
TIME_COLUMNS = 9
WAIT_COLUMNS = 6
STEP_COLUMNS = 5


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Two tasks and a callback; the second task waited 5 ms for the loop, while the first ran."""
    make = Maker()
    make.thread("MainThread")
    made = make.recording()

    def ints(*values: int) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    return replace(
        made,
        tasks=Tasks(
            process=np.zeros(3, np.uint32),
            id=np.array([7, 8, 9], np.uint64),
            kind=np.array([TASK, TASK, CALLBACK], np.uint8),
            name=["main", "worker", ""],
            function=np.full(3, -1, np.int32),
            parent=np.array([0, 7, 0], np.uint64),
            created_ns=ints(-1, 2 * MS, -1),
        ),
        task_times=TaskTimes(
            process=np.zeros(4, np.uint32),
            time=ints(10 * MS, 20 * MS, 20 * MS, 30 * MS),
            task=np.array([7, 8, 9, 8], np.uint64),
            steps=np.array([2, 1, 4, 1], np.uint32),
            tasks=np.zeros(4, np.uint32),
            running_ns=ints(6 * MS, 1 * MS, 3, 2 * MS),
            ready_ns=ints(0, 5 * MS, 1 * MS, 0),
            suspended_ns=ints(1 * MS, 0, 0, 7 * MS),
            caused_ns=ints(5 * MS, 0, 0, 0),
            ended=np.array([0, 0, 0, 1], np.uint8),
        ),
        task_waits=TaskWaits(
            thread=np.zeros(1, np.uint32),
            time=ints(12 * MS),
            task=np.array([8], np.uint64),
            ready_ns=ints(5 * MS),
            suspended_ns=ints(0),
            waker=np.array([7], np.uint64),
            woken=np.array([WOKEN_TASK], np.uint8),
            context=np.array([-1], np.int32),
        ),
        task_steps=TaskSteps(
            thread=np.zeros(1, np.uint32),
            time=ints(6 * MS),
            task=np.array([7], np.uint64),
            duration_ns=ints(5 * MS),
            caused_ns=ints(4 * MS),
        ),
        loop_times=LoopTimes(
            thread=np.zeros(1, np.uint32),
            time=ints(30 * MS),
            runtime=["uvloop"],
            steps=np.array([8], np.uint32),
            ready_ns=ints(6 * MS),
            max_ns=ints(5 * MS),
        ),
    )


def test_sums_of_tasks_are_those_of_the_view(recording: Recording) -> None:
    columns = columns_of(Bundle(recording, sources=False).tasks)
    place, _, steps, _, running, ready, suspended, caused, ended = columns[
        TASK_COLUMNS : TASK_COLUMNS + TIME_COLUMNS
    ]
    found = {
        row.task or "callback": (row.steps, row.running_ns, row.ready_ns, row.caused_ns)
        for row in tasks(recording).rows
    }
    numbers = [*recording.tasks.id.tolist()[:2], "callback"]
    summed = {
        number: tuple(
            sum(value for value, at in zip(column, place, strict=True) if at == i)
            for column in (steps, running, ready, caused)
        )
        for i, number in enumerate(numbers)
    }
    assert summed == found
    assert (sum(suspended), ended) == (8 * MS, [0, 0, 0, 1])


def test_waits_for_loops_are_those_of_the_view(recording: Recording) -> None:
    columns = columns_of(Bundle(recording, sources=False).tasks)
    first = TASK_COLUMNS + TIME_COLUMNS + WAIT_COLUMNS + STEP_COLUMNS
    wait, _, ns, thread, waiter, owner, *_ = columns[first:]
    waits = np.cumsum(zigzagged(wait)).tolist()
    rows = list(zip(waits, ns, thread, waiter, owner, strict=True))
    # Of 5 ms the first 4 ran main, of what was only added up nothing is known.
    assert sorted(rows) == [(0, 1 * MS, 1, 2, 0), (0, 4 * MS, 1, 2, 1), (1, 1 * MS, 0, 0, 0)]
    view = locks_and_loops(recording, by=("kind",))
    assert sum(ns) == view.loop_ns


def test_loops_are_locks_of_the_page(recording: Recording) -> None:
    facts = meta_of(recording)
    (loop,) = facts["loops"]
    assert (loop["thread"], loop["runtime"], loop["steps"]) == (0, "uvloop", 8)
    assert loop["lag"] == [[0, 30 * MS, 6 * MS // 8, 5 * MS]]
    names = [lock["name"] for lock in facts["locks"][-2:]]
    assert names == ["event loop of MainThread", "an event loop"]
    assert facts["taskNames"] == ["main", "worker", ""]
    assert facts["kinds"][-1] == "loop"
