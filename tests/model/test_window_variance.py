"""The variance of sums from windows, compared with how the sums really vary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sonde.model.window_variance import window_variance, windows_of

MS = 1_000_000
PERIOD, OPEN = 8 * MS, MS
PERIODS = 250

Rate = Callable[[np.ndarray], np.ndarray]
"""Allocations a millisecond, by time in milliseconds."""

PROGRAMS: dict[str, Rate] = {
    "steady": lambda ms: np.full(len(ms), 6.0),
    "rare": lambda ms: np.full(len(ms), 0.05),
    "growing": lambda ms: ms / 200,
    "phases of 20 ms": lambda ms: np.where(ms // 20 % 2 == 0, 12.0, 0.0),
    "bursts of 2 ms": lambda ms: np.where(ms % 50 < 2, 60.0, 0.0),
}


def sampled(rate: Rate, chance: np.random.Generator) -> np.ndarray:
    """Times of samples: one millisecond at random of each eight."""
    opened = np.arange(PERIODS) * PERIOD + chance.integers(0, PERIOD - OPEN, PERIODS)
    count = chance.poisson(rate(opened / MS))
    return np.repeat(opened, count) + chance.integers(0, OPEN, count.sum())


@pytest.mark.parametrize("name", PROGRAMS)
def test_margins_contain_the_truth(name: str) -> None:
    chance = np.random.default_rng(3)
    rate = PROGRAMS[name]
    true = rate(np.arange(0, PERIODS * 8, 0.01)).mean() * PERIODS * 8
    inside, runs = 0, 300
    for _ in range(runs):
        time = sampled(rate, chance)
        window = windows_of(time, OPEN, PERIOD)
        weight = np.full(len(time), PERIOD / OPEN)
        (variance,) = window_variance(window, weight, np.zeros(len(time), np.int64), 1)
        inside += abs(weight.sum() - true) <= 1.96 * variance**0.5
    assert inside / runs >= 0.9, inside / runs
    assert name != "steady" or inside / runs <= 0.995  # margins are not merely wide


def test_groups_are_apart() -> None:
    window = np.array([0, 1, 1, 3, 0])
    value = np.array([2.0, 3.0, 1.0, 5.0, 7.0])
    group = np.array([0, 0, 0, 0, 1])
    found = window_variance(window, value, group, 3)
    # Up to 2, up by 2 to 4, down to nothing; up to 5 and down; in the other group up to 7 and down.
    assert found.tolist() == [(4 + 4 + 16 + 25 + 25) / 2, 49, 0]


def test_windows_are_apart_by_their_gaps() -> None:
    times = np.array([0, 0.5, 9, 9.9, 14, 60, 0.7]) * MS
    assert windows_of(times.astype(np.int64), OPEN, PERIOD).tolist() == [0, 0, 1, 1, 2, 4, 0]
    assert len(windows_of(np.zeros(0, np.int64), OPEN, PERIOD)) == 0
