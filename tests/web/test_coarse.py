"""Samples merged until they are few enough."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.row_values import RUNNING, WAITING
from sonde.web.coarse import merged

MS = 1_000_000
THREADS, PERIOD = 3, 10


def samples(count: int, kinds: int, seed: int = 0):
    """Columns thread, time, state, what, weight; the first thread sleeps in the middle third."""
    draw = np.random.default_rng(seed)
    thread = draw.integers(0, THREADS, count)
    time = np.arange(1, count + 1) * PERIOD * MS
    asleep = (thread == 0) & (time > time[-1] // 3) & (time <= 2 * time[-1] // 3)
    thread, time = thread[~asleep], time[~asleep]
    state = draw.integers(0, 2, len(time))
    what = draw.integers(0, kinds, len(time)) * 2 + state
    weight = draw.integers(MS // 2, MS, len(time))
    return thread, time, state, what, weight


def totals(thread, what, weight) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for key, ns in zip(
        zip(thread.tolist(), what.tolist(), strict=True), weight.tolist(), strict=True
    ):
        found[key] = found.get(key, 0) + ns
    return found


@pytest.mark.parametrize("limit", [1, 100, 1_000, 5_000])
def test_sums_stay_exact(limit):
    thread, time, state, what, weight = samples(20_000, 40)
    coarse = merged(thread, time, state, what, weight, limit)
    assert totals(thread[coarse.row], what[coarse.row], coarse.weight) == totals(
        thread, what, weight
    )
    assert len(coarse.row) <= max(limit, THREADS * 80)


def test_the_shortest_bucket_that_suffices():
    thread, time, state, what, weight = samples(20_000, 4)
    lengths = [merged(thread, time, state, what, weight, n).bucket_ns for n in (100, 1_000, 10_000)]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 3
    whole = merged(thread, time, state, what, weight, 1)
    assert whole.bucket_ns > time[-1] - time[0]
    assert len(whole.row) == THREADS * 8


@pytest.mark.parametrize("limit", [1, 2_000])
def test_a_thread_is_busy_when_it_was_busy(limit):
    """However long the bucket is: of each thread and state what was spent until any moment."""
    thread, time, state, what, weight = samples(20_000, 400)
    coarse = merged(thread, time, state, what, weight, limit)
    largest = int(coarse.weight.max())
    for number in range(THREADS):
        for how in (RUNNING, WAITING):
            mine = (thread == number) & (state == how)
            shown = (thread[coarse.row] == number) & (state[coarse.row] == how)
            for moment in np.linspace(time[0], time[-1], 50):
                true = int(weight[mine & (time <= moment)].sum())
                told = int(coarse.weight[shown & (coarse.time <= moment)].sum())
                assert true - largest <= told <= true
    asleep = (coarse.time > time[-1] // 3) & (coarse.time <= 2 * time[-1] // 3)
    assert not (asleep & (thread[coarse.row] == 0)).any()


def test_room_left_is_used_to_split_the_longest():
    thread, time, state, what, weight = samples(20_000, 4)
    what = np.where(what < 2, what, what + 2 * np.arange(len(what)))  # rare ones, and two hot ones
    coarse = merged(thread, time, state, what, weight, 16_000)
    assert 15_000 < len(coarse.row) <= 16_000
    hot = what[coarse.row] < 2
    room = 16_000 - (len(coarse.row) - int(hot.sum()))
    assert coarse.weight.max() < 3 * weight.sum() / room


def test_by_thread_and_time():
    thread, time, state, what, weight = samples(20_000, 40)
    coarse = merged(thread, time, state, what, weight, 500)
    found = list(zip(thread[coarse.row].tolist(), coarse.time.tolist(), strict=True))
    assert found == sorted(found)


def test_far_apart_numbers():
    thread, time, state, what, weight = samples(1_000, 4)
    coarse = merged(thread, time, state, what * 10**9, weight, 1)
    same = merged(thread, time, state, what, weight, 1)
    assert coarse.row.tolist() == same.row.tolist()
    assert coarse.weight.tolist() == same.weight.tolist()
