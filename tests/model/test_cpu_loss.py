"""Who took how much: exact figures from steps made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonde.model.cpu_loss import Intervals, ProcessorSteps, RunningSamples, Steps, spread, taken


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
    assert [found[cause].tolist() for cause in ("queue", "quota", "hypervisor")] == [[60], [0], [0]]


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


# ---- by processor


def processors(rows: Sequence[tuple[int, int, int, int]]) -> ProcessorSteps:
    """Of process 0: time, processor, busy, steal."""
    time, number, busy, steal = (ints(*column) for column in zip(*rows, strict=True))
    return ProcessorSteps(np.zeros(len(rows), np.int64), time, number, busy, steal)


def ran(rows: Sequence[tuple[int, int, int, int]]) -> RunningSamples:
    """Samples: thread, time, processor, weight."""
    return RunningSamples(*(ints(*column) for column in zip(*rows, strict=True)))


def test_steal_is_of_the_processor_that_a_thread_ran_on() -> None:
    # Two threads, each alone on its processor; only one of those lost anything.
    used = steps([(1, 10, 100, 0), (2, 10, 100, 0)])
    samples = ran([(1, 5, 0, 100), (2, 6, 1, 100)])
    machine = intervals([(10, 200, 40, 0)])
    assert taken(used, machine)["hypervisor"].tolist() == [20, 20]
    found = taken(used, machine, samples, processors([(10, 0, 100, 40), (10, 1, 100, 0)]))
    assert found["hypervisor"].tolist() == [40, 0]


def test_threads_of_one_processor_share_its_steal_by_their_use() -> None:
    used = steps([(1, 10, 60, 0), (2, 10, 20, 0), (3, 10, 80, 0)])
    samples = ran([(1, 5, 0, 60), (2, 6, 0, 20), (3, 5, 1, 80)])
    # A fifth of the first processor's time, and half of the second's, was that of other programs.
    by = processors([(10, 0, 100, 50), (10, 1, 160, 60)])
    found = taken(used, intervals([(10, 260, 110, 0)]), samples, by)
    assert found["hypervisor"].tolist() == [30, 10, 30]


def test_a_thread_that_moved_has_its_share_of_each_processor() -> None:
    used = steps([(1, 10, 80, 0)])
    samples = ran([(1, 2, 0, 30), (1, 4, 1, 10)])
    found = taken(
        used,
        intervals([(10, 80, 20, 0)]),
        samples,
        processors([(10, 0, 60, 16), (10, 1, 20, 4)]),
    )
    assert found["hypervisor"].tolist() == [20]
    alone = taken(used, intervals([(10, 80, 20, 0)]), samples, processors([(10, 1, 40, 4)]))
    assert alone["hypervisor"].tolist() == [2]


def test_a_step_without_a_sample_was_where_the_thread_was_before_or_else_after() -> None:
    used = steps([(1, 10, 10, 0), (1, 20, 10, 0), (1, 30, 10, 0)])
    samples = ran([(1, 15, 1, 10), (1, 29, 0, 10)])
    by = processors([
        (10, 1, 10, 1), (20, 1, 10, 2), (30, 0, 10, 4), (30, 1, 10, 8),
    ])  # fmt: skip
    machine = intervals([(10, 10, 1, 0), (20, 10, 2, 0), (30, 20, 12, 0)])
    assert taken(used, machine, samples, by)["hypervisor"].tolist() == [1, 2, 4]


def test_a_thread_without_samples_shares_what_is_left_of_the_machine() -> None:
    used = steps([(1, 10, 100, 0), (2, 10, 50, 0)])
    samples = ran([(1, 5, 0, 100)])
    by = processors([(10, 0, 100, 40), (10, 1, 100, 10)])
    found = taken(used, intervals([(10, 200, 50, 0)]), samples, by)
    # All of processor 0's is the first's; of the rest, which was busy for 100, the other used half.
    assert found["hypervisor"].tolist() == [40, 5]


def test_ticks_rounded_up_and_down_are_nobodys_use() -> None:
    ms = 1_000_000
    # A thread that keeps its processor busy; the machine counts in ticks of 10 ms.
    times = [100 * ms * (n + 1) for n in range(40)]
    used = steps([(1, time, 100 * ms, 0) for time in times])
    samples = ran([(1, time - 1, 0, 100 * ms) for time in times])
    busy = [(90 if n % 2 else 110) * ms for n in range(40)]
    by = processors([(time, 0, ns, 10 * ms) for time, ns in zip(times, busy, strict=True)])
    machine = intervals([(time, 200 * ms, 10 * ms, 0) for time in times])
    stolen = taken(used, machine, samples, by)["hypervisor"]
    assert stolen.sum() > 0.99 * 40 * 10 * ms


def test_a_row_of_several_steps_is_shared_among_all_of_them() -> None:
    used = steps([(1, 10, 30, 0), (2, 20, 10, 0), (2, 30, 40, 0)])
    samples = ran([(1, 9, 0, 30), (2, 19, 0, 10), (2, 29, 0, 40)])
    machine = intervals([(10, 30, 0, 0), (20, 10, 0, 0), (30, 40, 8, 0)])
    found = taken(used, machine, samples, processors([(20, 0, 40, 0), (30, 0, 40, 8)]))
    assert found["hypervisor"].tolist() == [0, 0, 8]
    found = taken(used, machine, samples, processors([(30, 0, 80, 8)]))
    assert found["hypervisor"].tolist() == [3, 1, 4]


def test_processes_see_processors_of_their_own() -> None:
    used = Steps(ints(1, 2), ints(0, 1), ints(10, 12), ints(100, 100), ints(0, 0))
    seen = Intervals(ints(0, 1), ints(10, 12), ints(200, 200), ints(50, 50), ints(0, 0))
    by = ProcessorSteps(ints(0, 1), ints(10, 12), ints(0, 0), ints(100, 200), ints(50, 50))
    found = taken(used, seen, ran([(1, 5, 0, 1), (2, 5, 0, 1)]), by)
    assert found["hypervisor"].tolist() == [50, 25]


def test_no_more_is_given_than_was_stolen() -> None:
    random = np.random.default_rng(3)
    threads, count = 5, 50
    thread = np.repeat(np.arange(threads), count)
    time = np.tile(np.arange(1, count + 1) * 100, threads)
    used = Steps(
        thread, np.zeros(len(time), np.int64), time, random.integers(0, 90, len(time)),
        np.zeros(len(time), np.int64),
    )  # fmt: skip
    # Of the last thread nothing is known.
    sampled = np.flatnonzero((thread < threads - 1) & (random.random(len(time)) < 0.7))
    samples = RunningSamples(
        thread[sampled], time[sampled] - 1, random.integers(0, 3, len(sampled)),
        np.ones(len(sampled), np.int64),
    )  # fmt: skip
    at = np.repeat(np.arange(1, count + 1) * 100, 3)
    steal = random.integers(0, 30, len(at))
    zeros = np.zeros(len(at), np.int64)
    by = ProcessorSteps(
        zeros, at, np.tile(np.arange(3), count), random.integers(0, 99, len(at)), steal
    )
    whole = steal.reshape(count, 3).sum(axis=1)
    machine = Intervals(
        np.zeros(count, np.int64), np.arange(1, count + 1) * 100, np.full(count, 250), whole,
        np.zeros(count, np.int64),
    )  # fmt: skip
    found = taken(used, machine, samples, by)["hypervisor"]
    given = np.bincount((time // 100) - 1, found, count)
    assert (found >= 0).all()
    assert (given <= whole + threads).all()  # each is rounded
