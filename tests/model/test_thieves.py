"""Who took how much: exact figures from steps made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonde.model.thieves import Intervals, Steps, spread, taken


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def steps(rows: Sequence[tuple[int, int, int, int]]) -> Steps:
    """Of process 0: thread, time, CPU time, run delay."""
    thread, time, cpu, delay = (ints(*column) for column in zip(*rows, strict=True))
    return Steps(thread, np.zeros(len(rows), np.int64), time, cpu, delay)


def intervals(rows: Sequence[tuple[int, int, int, int]]) -> Intervals:
    """Of process 0: time, busy, steal, throttled."""
    time, busy, steal, throttled = (ints(*column) for column in zip(*rows, strict=True))
    return Intervals(np.zeros(len(rows), np.int64), time, busy, steal, throttled)


def test_the_example_of_hofer() -> None:
    # Figure 5.1: three threads on three virtual processors, of which two were suspended for 5 each.
    used = steps([(1, 22, 1000, 0), (2, 22, 900, 0), (3, 22, 100, 0)])
    found = taken(used, intervals([(22, 2000, 1000, 0)]))
    assert found["hypervisor"].tolist() == [500, 450, 50]
    assert found["queue"].tolist() == found["quota"].tolist() == [0, 0, 0]


def test_only_the_share_of_our_threads_is_ours() -> None:
    found = taken(steps([(1, 10, 100, 0)]), intervals([(10, 400, 80, 0)]))
    assert found["hypervisor"].tolist() == [20]


def test_a_machine_that_counts_in_ticks_takes_no_more_than_all() -> None:
    # In the same interval the machine counted less than our thread alone.
    found = taken(steps([(1, 10, 100, 0)]), intervals([(10, 60, 60, 0)]))
    assert found["hypervisor"].tolist() == [60]


def test_steal_is_of_its_own_interval() -> None:
    used = steps([(1, 10, 100, 0), (1, 20, 100, 0)])
    found = taken(used, intervals([(10, 100, 0, 0), (20, 100, 30, 0)]))
    assert found["hypervisor"].tolist() == [0, 30]


def test_the_quota_is_taken_out_of_the_queue() -> None:
    used = steps([(1, 10, 10, 60), (2, 10, 10, 20)])
    found = taken(used, intervals([(10, 20, 0, 40)]))
    assert found["quota"].tolist() == [30, 10]
    assert found["queue"].tolist() == [30, 10]


def test_nobody_stands_longer_for_the_quota_than_in_the_queue() -> None:
    found = taken(steps([(1, 10, 10, 60)]), intervals([(10, 20, 0, 500)]))
    assert (found["quota"].tolist(), found["queue"].tolist()) == ([60], [0])


def test_without_the_machine_all_is_the_queue() -> None:
    empty = Intervals(*(np.zeros(0, np.int64) for _ in range(5)))
    found = taken(steps([(1, 10, 10, 60)]), empty)
    assert [found[thief].tolist() for thief in ("queue", "quota", "hypervisor")] == [[60], [0], [0]]


def test_processes_have_intervals_of_their_own() -> None:
    used = Steps(ints(1, 2), ints(0, 1), ints(10, 12), ints(100, 100), ints(0, 0))
    seen = Intervals(ints(0, 1), ints(10, 12), ints(100, 100), ints(10, 40), ints(0, 0))
    assert taken(used, seen)["hypervisor"].tolist() == [10, 40]


def test_a_step_goes_to_its_samples_by_their_weight() -> None:
    lost = spread(
        ints(1, 1, 1), ints(3, 8, 13), ints(1, 3, 5), ints(1, 1), ints(10, 20), ints(100, 7)
    )
    assert lost.tolist() == [25, 75, 7]


def test_a_step_without_samples_goes_to_the_next_and_the_last_to_the_one_before() -> None:
    lost = spread(
        ints(1, 1), ints(15, 25), ints(1, 1), ints(1, 1, 1, 1), ints(10, 20, 30, 40),
        ints(5, 10, 20, 40),
    )  # fmt: skip
    assert lost.tolist() == [15, 60]


def test_nothing_is_lost_in_rounding() -> None:
    random = np.random.default_rng(7)
    weight = random.integers(1, 1000, 500)
    time = np.sort(random.integers(0, 100, 500))
    loss = random.integers(0, 1000, 10)
    lost = spread(
        np.ones(500, np.int64), time, weight, np.ones(10, np.int64),
        np.arange(10, 101, 10), loss,
    )  # fmt: skip
    assert lost.sum() == loss.sum()
    assert (lost >= 0).all()


def test_a_thread_without_samples_keeps_its_loss() -> None:
    lost = spread(ints(2), ints(5), ints(1), ints(1, 2), ints(10, 10), ints(100, 3))
    assert lost.tolist() == [3]
