"""Shares of time in two groups of runs, and whether they differ by more than chance.

Samples of one run are not independent of each other, so runs are what is counted: a function's
share is measured in each, and the two groups are compared by Welch's test. Many functions are
tested, so what is called significant is corrected for that (Benjamini, Hochberg).

Of a single run only the sampling error is known. Then `by_sampling_error` compares the counts, and
says nothing about how much runs differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
"""Of what is called significant, so many in a hundred may be chance."""
COUNTED = 81
"""A function with fewer samples than this in both groups together is not tested: each test more
makes every answer less certain, and this one would have none. Of N samples a function that takes
twice as much in one group has N / 3 more there, and counting alone scatters by the root of N; less
than three times that is not seen. How many there are in both groups together says nothing about how
they differ, so choosing by it does not favour any answer."""
MIN_COUNT = 2
"""Runs in each group below which nothing can be said about how runs differ."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """A function's share over the runs of one group."""

    mean: float
    variance: float
    processes: int


@dataclass(frozen=True)
class Measured:
    """What is known of one group. A run is a process, or a recording."""

    shares: dict[int, tuple[float, float]]
    """By function the sum of its shares and of their squares. A run in which it was not seen has a
    share of 0, and adds to neither sum."""
    processes: int
    samples: int
    scatter: float
    """The mean, over runs, of one by their samples: times s (1 - s) it is the variance that
    counting samples gives a share s. A few runs may happen to agree by more than that, but know no
    better."""


@dataclass(frozen=True)
class Verdict:
    function: int
    base: Group
    new: Group
    p: float | None
    """How likely such a difference is by chance alone; None: not tested, of too few runs or too few
    samples."""
    adjusted: float | None
    """The same, corrected for the number of functions tested."""
    margin: float | None = None
    """What to add to the difference, and to take from it, for its 95 % confidence interval."""

    @property
    def delta(self) -> float:
        return self.new.mean - self.base.mean

    @property
    def significant(self) -> bool:
        return self.adjusted is not None and self.adjusted <= LEVEL


def verdicts(base: Measured, new: Measured, *, by_sampling_error: bool = False) -> list[Verdict]:
    """All functions of both, in the order of their ids."""
    keys = sorted({*base.shares, *new.shares})
    none = (0.0, 0.0)
    sums = [
        np.array([of.shares.get(key, none) for key in keys]).reshape(-1, 2) for of in (base, new)
    ]
    # What both have in common is the share that chance would scatter around.
    share = (sums[0][:, 0] + sums[1][:, 0]) / max(base.processes + new.processes, 1)
    sampled = [share * (1 - share) * of.scatter for of in (base, new)]
    groups = [_spread(of, sums[i], sampled[i]) for i, of in enumerate((base, new))]
    tested = share * (base.samples + new.samples) >= COUNTED
    if by_sampling_error:
        groups = [(mean, sampled[i]) for i, (mean, _) in enumerate(groups)]
    elif min(base.processes, new.processes) < MIN_COUNT:
        tested[:] = False
    p: list[float | None] = [None] * len(keys)
    adjusted, margin = list(p), list(p)
    chances: list[float] = []
    places = np.flatnonzero(tested).tolist()
    for place in places:
        each = [
            (float(variance[place]) / of.processes, of.processes)
            for (_, variance), of in zip(groups, (base, new), strict=True)
        ]
        error, freedom = _standard_error(each, normal=by_sampling_error)
        difference = abs(float(groups[1][0][place] - groups[0][0][place]))
        # Where nothing scatters it is all of the time, or none of it, in both.
        chance = two_sided(difference / error, freedom) if error else 1.0
        chances.append(chance)
        p[place], margin[place] = chance, error * quantile(freedom)
    for place, corrected in zip(places, false_discovery(chances), strict=True):
        adjusted[place] = corrected
    before, after = (
        [Group(float(mean), float(variance), of.processes)
         for mean, variance in zip(*columns, strict=True)]
        for columns, of in zip(groups, (base, new), strict=True)
    )  # fmt: skip
    return [Verdict(*one) for one in zip(keys, before, after, p, adjusted, margin, strict=True)]


def _spread(of: Measured, sums: Any, sampled: Any) -> tuple[Any, Any]:
    """Means and variances of the shares of a group, by function."""
    count = max(of.processes, 1)
    mean = sums[:, 0] / count
    variance = np.maximum(sums[:, 1] - count * mean * mean, 0) / max(count - 1, 1)
    return mean, np.maximum(variance, sampled)


def _standard_error(each: list[tuple[float, int]], *, normal: bool) -> tuple[float, float]:
    """Of a difference of two means, and its degrees of freedom (Welch, Satterthwaite)."""
    variance = sum(of for of, _ in each)
    if normal:
        return math.sqrt(variance), math.inf
    below = sum(of * of / (count - 1) for of, count in each)
    return math.sqrt(variance), variance * variance / below if below else 1.0


def two_sided(t: float, freedom: float) -> float:
    """How likely Student's t is as far from 0 as this, or farther; infinite freedom: the normal
    distribution's."""
    if math.isinf(freedom):
        return math.erfc(t / math.sqrt(2))
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def quantile(freedom: float, level: float = LEVEL) -> float:
    """The t that is exceeded, to either side, with this probability."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if two_sided(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return high


def false_discovery(p: list[float]) -> list[float]:
    """Each probability corrected for the number of them (Benjamini, Hochberg)."""
    if not p:
        return []
    values = np.array(p)
    order = np.argsort(values)
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    corrected = np.empty(len(values))
    corrected[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    found: list[float] = np.minimum(corrected, 1).tolist()
    return found


def _beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        # The fraction converges fast only on this side.
        return 1 - _beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    result = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(log_front) * result / a
