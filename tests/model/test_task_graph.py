"""Cycles among tasks that await each other."""

from __future__ import annotations

import pytest

from sonde.model.task_graph import SUSPENDED, TaskNow, cycles, deadlocks


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], []),
        ([[1], []], []),
        ([[0]], [[0]]),
        ([[1], [0]], [[0, 1]]),
        ([[1], [2], [1]], [[1, 2]]),
        ([[1, 2], [0], [3], [2]], [[0, 1], [2, 3]]),
        ([[1], [2, 0], [3], [4], [0]], [[0, 1]]),
        ([[1, 2], [2], []], []),
        ([[1], [1]], [[1]]),
    ],
)
def test_each_group_has_its_shortest_cycle(
    edges: list[list[int]], expected: list[list[int]]
) -> None:
    assert cycles(edges) == expected


def task(awaits: list[int], *, needs_all: bool = True) -> TaskNow:
    return TaskNow("", 1, SUSPENDED, [], "task", awaits, needs_all)


def test_a_task_that_another_one_can_free_is_in_no_deadlock() -> None:
    assert deadlocks([task([1, 2], needs_all=False), task([0]), task([])]) == []
    assert deadlocks([task([1, 2]), task([0]), task([])]) == [[0, 1]]
    assert deadlocks([task([1], needs_all=False), task([0])]) == [[0, 1]]
