"""What is alive when, compared with counting it moment by moment."""

from __future__ import annotations

import numpy as np

from sonde.model.survival import NEVER, alive_at, high_water, lifetimes

GROUPS = 4


def lives(seed: int, size: int = 300) -> tuple[np.ndarray, ...]:
    chance = np.random.default_rng(seed)
    begin = chance.integers(-50, 1000, size)
    end = begin + chance.integers(0, 400, size)
    end[chance.random(size) < 0.2] = NEVER
    return chance.integers(0, GROUPS - 1, size), begin, end, chance.random(size) * 10


def test_high_water_is_the_most_at_any_moment() -> None:
    for seed in range(20):
        group, begin, end, weight = lives(seed)
        found = high_water(group, GROUPS, begin, end, weight)
        for g in range(GROUPS):
            mine = group == g
            by_moment = [weight[mine & (begin <= t) & (t < end)].sum() for t in range(-50, 1500)]
            assert np.isclose(found.most[g], max(by_moment, default=0))
            at = int(found.time[g])
            assert np.isclose(by_moment[at + 50], found.most[g])


def test_what_ends_when_another_begins_is_not_alive_with_it() -> None:
    found = high_water(
        np.zeros(2, np.int64), 1, np.array([0, 5]), np.array([5, 9]), np.array([3.0, 3.0])
    )
    assert found.most.tolist() == [3.0]
    assert found.time.tolist() == [0]


def test_nothing_has_no_high_water() -> None:
    none = np.zeros(0, np.int64)
    assert high_water(none, 2, none, none, none.astype(float)).most.tolist() == [0, 0]


def test_alive_at_moments() -> None:
    for seed in range(5):
        _, begin, end, weight = lives(seed)
        moments = np.arange(-60, 1500, 7)
        expected = [weight[(begin <= t) & (t < end)].sum() for t in moments]
        # At its first and last moment: a beginning counts from the next moment asked for on.
        assert np.allclose(alive_at(moments, begin, end, weight), expected)


def test_lifetimes_are_of_what_ended() -> None:
    begin = np.array([0, 0, 10, 10, 0])
    end = np.array([1, 3, 14, NEVER, 1000])
    found = lifetimes(np.array([0, 0, 0, 0, 1]), 2, begin, end, np.array([1.0, 2, 4, 8, 16]))
    assert found == [[(1, 1), (4, 6)], [(1024, 16)]]
