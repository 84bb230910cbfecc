"""Welch's test, against SciPy's and against groups whose difference is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sonde.model.group_comparison import (
    COUNTED,
    LEVEL,
    Measured,
    false_discovery,
    quantile,
    two_sided,
    verdicts,
)


def group(shares: list[list[float]], samples: int = 100_000) -> Measured:
    """By run the shares of functions 0, 1, …"""
    columns = np.array(shares).T
    sums = {f: (float(of.sum()), float((of * of).sum())) for f, of in enumerate(columns)}
    return Measured(sums, len(shares), samples * len(shares), 1 / samples)


@pytest.mark.parametrize("freedom", [1, 1.5, 4, 30, 1000])
def test_students_t_is_scipys(freedom: float) -> None:
    for t in (0, 1e-3, 0.5, 1, 2, 5, 30):
        assert two_sided(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), abs=1e-9)
    assert quantile(freedom) == pytest.approx(stats.t.ppf(1 - LEVEL / 2, freedom), rel=1e-6)


def test_with_endless_freedom_it_is_the_normal_distribution() -> None:
    assert two_sided(1.96, math.inf) == pytest.approx(2 * stats.norm.sf(1.96))
    assert quantile(math.inf) == pytest.approx(1.959964, rel=1e-6)


def test_correction_for_many_tests_is_scipys() -> None:
    random = np.random.default_rng(1)
    for count in (1, 2, 50):
        p = (random.random(count) ** 3).tolist()
        assert false_discovery(p) == pytest.approx(stats.false_discovery_control(p))
    assert false_discovery([]) == []


def test_two_groups_are_compared_by_welchs_test() -> None:
    base, new = [0.20, 0.22, 0.19, 0.23], [0.30, 0.26, 0.31]
    (found,) = verdicts(group([[s] for s in base]), group([[s] for s in new]))
    expected = stats.ttest_ind(new, base, equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert found.margin is not None
    assert found.delta - found.margin == pytest.approx(interval.low)
    assert found.delta + found.margin == pytest.approx(interval.high)
    assert found.significant


def test_runs_that_happen_to_agree_scatter_by_their_samples() -> None:
    few = verdicts(group([[0.2]] * 3, samples=50), group([[0.3]] * 3, samples=50))
    many = verdicts(group([[0.2]] * 3, samples=5000), group([[0.3]] * 3, samples=5000))
    assert not few[0].significant
    assert many[0].significant


def test_too_few_runs_or_samples_are_not_tested() -> None:
    (one_run,) = verdicts(group([[0.2]]), group([[0.3]] * 3))
    assert (one_run.p, one_run.margin, one_run.significant) == (None, None, False)
    rare = COUNTED // 2 - 1
    (few,) = verdicts(group([[0.5]] * 2, samples=rare // 2), group([[0.5]] * 2, samples=rare // 2))
    assert few.p is None


def test_one_run_is_compared_by_its_sampling_error() -> None:
    """The margin covers the true difference as often as it claims."""
    random = np.random.default_rng(2)
    base, new, samples, covered = 0.2, 0.25, 1000, 0
    for _ in range(1000):
        one, other = (random.binomial(samples, share) / samples for share in (base, new))
        (found,) = verdicts(
            group([[one]], samples), group([[other]], samples), by_sampling_error=True
        )
        assert found.margin is not None
        covered += abs(found.delta - (new - base)) <= found.margin
    # 950 are expected; the standard error of the count is 7.
    assert 920 <= covered <= 980
