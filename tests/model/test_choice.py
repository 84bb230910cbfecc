"""Which samples count."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.choice import Choice, Chosen, choose

THREAD = np.array([0, 0, 1, 1], dtype=np.uint32)
TIME = np.array([100, 200, 300, 1_000], dtype=np.int64)
WEIGHT = np.array([10, 150, 10, 500], dtype=np.int64)
STATE = np.array([0, 1, 0, 2], dtype=np.uint8)


def apply(choice: Choice) -> Chosen:
    return choose(choice, THREAD, TIME, WEIGHT, STATE)


@pytest.mark.parametrize(
    ("time", "rows"), [("running", [0, 2]), ("waiting", [1, 3]), ("wall", [0, 1, 2, 3])]
)
def test_time(time: str, rows: list[int]) -> None:
    chosen = apply(Choice(time))  # type: ignore[arg-type]
    assert chosen.rows.tolist() == rows
    assert chosen.weight.tolist() == WEIGHT[rows].tolist()


def test_threads() -> None:
    assert apply(Choice("wall", np.array([False, True]))).rows.tolist() == [2, 3]


def test_a_running_sample_is_in_or_out() -> None:
    assert apply(Choice(start_ns=100, end_ns=300)).rows.tolist() == [0]
    assert apply(Choice(start_ns=101)).rows.tolist() == [2]
    assert apply(Choice(end_ns=301)).weight.tolist() == [10, 10]


def test_a_wait_counts_with_its_part_inside() -> None:
    # The waits last from 50 to 200 and from 500 to 1000.
    chosen = apply(Choice("waiting", start_ns=100, end_ns=700))
    assert chosen.rows.tolist() == [1, 3]
    assert chosen.weight.tolist() == [100, 200]


def test_a_wait_around_the_range_fills_it() -> None:
    assert apply(Choice("waiting", start_ns=600, end_ns=650)).weight.tolist() == [50]


def test_a_wait_that_only_touches_the_range_is_out() -> None:
    assert apply(Choice("waiting", start_ns=200, end_ns=500)).rows.tolist() == []
