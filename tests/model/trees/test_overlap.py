"""Overlap, hot-edge coverage and correlation against figures done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.trees.overlap import correlation, coverage, hot_edges, overlap


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 0], [0, 1], 0.0),
        ([50, 50], [25, 75], 0.75),
        ([60, 30, 10, 0], [20, 30, 0, 50], 0.5),
        ([0, 0], [1, 2], None),
        ([], [], None),
    ],
)
def test_overlap(base: list[int], new: list[int], expected: float | None) -> None:
    found = overlap(np.array(base, dtype=np.int64), np.array(new, dtype=np.int64))
    assert found == (expected if expected is None else pytest.approx(expected))


def test_shares_that_round_are_at_most_all() -> None:
    for size in range(1, 100):
        weights = np.arange(1, size + 1)
        found = overlap(weights, weights * 3)
        assert found == pytest.approx(1)
        assert found is not None
        assert found <= 1


def test_hot_is_relative_to_the_hottest() -> None:
    weights = np.array([100, 10, 9, 0])
    assert hot_edges(weights, 0.1).tolist() == [True, True, False, False]
    assert hot_edges(weights, 0.0).tolist() == [True, True, True, False]
    assert hot_edges(np.zeros(3, dtype=np.int64)).tolist() == [False] * 3


def test_coverage_has_a_direction() -> None:
    base, new = np.array([100, 50, 0, 5]), np.array([100, 0, 90, 80])
    assert coverage(new, base) == 1 / 2
    assert coverage(base, new) == 1 / 3
    assert coverage(base, np.zeros(4, dtype=np.int64)) is None


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        # 0 0 1 and 1 0 1 less their means: products 1/3, squares 2/3 each.
        ([1, 1, 2], [2, 1, 2], 0.5),
        # What neither has is no edge of theirs; what one has counts as 0 in the other.
        ([4, 2, 0, 0], [2, 4, 0, 0], -1.0),
        ([2, 0, 0], [0, 2, 0], -1.0),
        ([5, 5], [1, 2], None),
        ([0, 0], [0, 0], None),
        ([], [], None),
    ],
)
def test_correlation(base: list[int], new: list[int], expected: float | None) -> None:
    found = correlation(np.array(base, dtype=np.int64), np.array(new, dtype=np.int64))
    assert found == (expected if expected is None else pytest.approx(expected))
