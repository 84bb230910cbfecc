"""The accuracy of shares that samples estimate."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.proportion import share_interval


def test_wilson_intervals_are_those_of_the_textbook() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for hits, samples, expected in (
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ):
        assert share_interval(hits / samples, samples) == pytest.approx(expected, abs=5e-5)


def test_without_samples_a_share_may_be_any() -> None:
    assert share_interval(0.0, 0) == (0.0, 1.0)


def test_most_intervals_contain_the_true_share() -> None:
    drawn = np.random.default_rng(7).binomial(60, 0.3, 4000)
    covered = np.mean(
        [low <= 0.3 <= high for low, high in (share_interval(k / 60, 60) for k in drawn)]
    )
    assert 0.93 < covered < 0.97
