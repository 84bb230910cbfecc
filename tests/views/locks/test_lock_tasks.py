"""Waits of threads for locks, by the tasks that they ran."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sonde.recording.tables import Recording
from sonde.recording.task_tables import Tasks
from sonde.views.locks.lock_table import lock_table
from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

BY = ("waiter_task", "owner_task")


@pytest.fixture
def recording() -> Recording:
    """Task 1 of one loop waits for what task 2 of another one holds, then a thread without."""
    make = Maker()
    make.wait("lock", "first", "second", 10 * MS, 30 * MS)
    make.wait("lock", "plain", "second", 40 * MS, 45 * MS)
    found = make.recording()
    tasks = Tasks(
        process=np.zeros(2, np.uint32),
        id=np.array([1, 2], np.uint64),
        kind=np.zeros(2, np.uint8),
        name=["waits", "holds"],
        function=np.full(2, -1, np.int32),
        parent=np.zeros(2, np.uint64),
        created_ns=np.zeros(2, np.int64),
    )
    # Of each wait: it begins, the owner releases it, the waiter acquires it.
    task = np.array([1, 2, 1, 0, 0, 0], np.uint64)
    return replace(found, tasks=tasks, lock_events=replace(found.lock_events, task=task))


def pairs(recording: Recording, selection: Selection) -> dict[tuple[Any, Any], int]:
    return {
        (waiter.value, owner.value): owner.wait_ns // MS
        for waiter in locks(recording, selection, by=BY).rows
        for owner in waiter.children
    }


def test_both_tasks_of_a_wait_are_named(recording: Recording) -> None:
    assert pairs(recording, Selection()) == {("waits", "holds"): 20, (None, None): 5}


def test_the_waits_of_one_task(recording: Recording) -> None:
    assert pairs(recording, Selection(task="waits")) == {("waits", "holds"): 20}
    (row,) = lock_table(recording, Selection(task="1")).rows
    assert row.wait_ns == 20 * MS
