"""How far a sampled share may be from the true one before it is called wrong.

A run of the tests makes some 350 comparisons. Each may err by Z standard deviations, Z = 5.3: a
normal variable leaves them with probability 1.2e-7, so all of them together raise a false alarm in
fewer than one run in 10,000 (350 * 1.2e-7 = 4e-5).

The standard deviation is the smaller of two:

- sqrt(p (1 - p) / n), as if every sample fell anywhere: right where parts are shorter than the
  period;
- sqrt(visits) / 2 / n: samples come at a fixed step of CPU time, so what one visit of a part gets is
  its true number of steps rounded up or down (variance at most 1/4), and visits are independent
  because their lengths are. For long visits this is far less than the first.

n is the effective number (sum of weights squared over sum of squared weights): a machine that was
busy elsewhere makes some samples heavier than others.

SLACK covers what is no matter of chance: between two parts the program reads its clock and keeps its
books, and where these few microseconds go is not told by its clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.tables import Recording

Z = 5.3
SLACK = 0.003


def effective_count(weights: NDArray[np.int64]) -> float:
    heavy = weights.astype(np.float64)
    return float(heavy.sum() ** 2 / (heavy**2).sum())


def bound(share: float, visits: float, count: float) -> float:
    by_sample = math.sqrt(share * (1 - share) / count)
    by_visit = math.sqrt(visits) / 2 / count
    return Z * min(by_sample, by_visit) + SLACK


def compare(
    truth: Mapping[str, Any],
    measured: Mapping[str, int],
    weights: NDArray[np.int64],
    *,
    regular: bool = True,
    unseen: float = 0.0,
) -> list[str]:
    """The parts whose share is wrong. `truth` is what a program told: time and visits per part.

    `regular`: samples come at a fixed step of CPU time. `unseen`: the share of samples that have no
    stack, all of which may be of one part.
    """
    spent, visits = truth["spent"], truth["visits"]
    total, sampled = sum(spent.values()), sum(measured.get(part, 0) for part in spent)
    assert sampled, f"no sample in any of {', '.join(spent)}"
    # Only the samples in these parts count; the others say nothing about how they divide.
    count = effective_count(weights) * min(1.0, sampled / int(weights.sum()))
    wrong = []
    for part, ns in spent.items():
        true, seen = ns / total, measured.get(part, 0) / sampled
        allowed = bound(true, visits[part] if regular else math.inf, count) + unseen
        if abs(true - seen) > allowed:
            wrong.append(f"{part}: true {true:.2%}, sampled {seen:.2%}, allowed ±{allowed:.2%}")
    return wrong


def unaccounted(
    recording: Recording,
    rows: NDArray[np.intp],
    inside: NDArray[np.bool_],
    beside: NDArray[np.bool_],
    spent: int,
) -> str:
    """What is wrong with the time of a part in which one thread was by its own clock `spent` long.

    `rows` are the thread's samples in order, `inside` tells which were in the part and `beside` which
    were where the clock is read. Nothing is left to chance here: the part's samples cannot span more
    than the part did (but for the first, which brings the time before it), and together with those
    beside it and one more no less.
    """
    weights = recording.samples.weight[rows]
    maybe = beside | (recording.samples.context[rows] < 0)
    (within,) = inside.nonzero()
    first, last = int(within[0]), int(within[-1])
    total = int(weights[first : last + 1].sum())
    surely = total - int(weights[first])
    period = 1_000_000_000 // int(recording.quality["rate_asked"])
    # Between the reading of a clock and the moment it tells are a few instructions; and of the 63
    # samples that tell CPU time by the other clock each may be wrong by a thirty-second part.
    slack = period // 10 + 2 * period
    if surely > spent + slack:
        return f"{surely} ns sampled of {spent} ns"
    while first > 0 and maybe[first - 1]:
        first -= 1
        total += int(weights[first])
    while last + 1 < len(weights):
        last += 1
        total += int(weights[last])
        if not maybe[last]:
            break
    else:  # it ended before another sample was due, by its CPU time, of which others may steal
        total += 2 * period + int(recording.quality["steal_ns"])
    return "" if total >= spent - slack else f"only {total} ns sampled of {spent} ns"
