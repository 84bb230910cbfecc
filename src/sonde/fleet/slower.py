"""What became slower from one group of processes to another, and is it more than chance?

Samples of one process are not independent, so processes are what is counted: a function's share of
the running time is measured in each, and the two groups are compared by Welch's test. Many
functions are looked at, so what is called significant is corrected for that (Benjamini, Hochberg).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.fleet.contexts import functions_of
from sonde.fleet.shares import shares
from sonde.recording.tables import RUNNING

if TYPE_CHECKING:
    from sonde.fleet.asked import Asked

LEVEL = 0.05
"""Of what is called significant, so many in a hundred may be chance."""
LEAST = 0.002
"""A function with less than this share of all the time is not asked about: each question more makes
every answer less sure."""
FEWEST = 2
"""Processes in each group below which nothing can be said about chance."""


@dataclass(frozen=True)
class Group:
    """A function's share over the processes of one group."""

    mean: float
    variance: float
    processes: int


@dataclass(frozen=True)
class SlowerRow:
    function: dict[str, Any]
    base: Group
    new: Group
    p: float | None
    """How likely such a difference is by chance alone; None: not asked, of too few processes or too
    small a share."""
    adjusted: float | None
    """The same, corrected for the number of functions looked at."""

    @property
    def delta(self) -> float:
        return self.new.mean - self.base.mean

    @property
    def significant(self) -> bool:
        return self.adjusted is not None and self.adjusted <= LEVEL

    def to_json(self) -> dict[str, Any]:
        return {
            **self.function,
            "base": self.base.mean,
            "new": self.new.mean,
            "delta": self.delta,
            "p": self.p,
            "adjusted_p": self.adjusted,
            "significant": self.significant,
        }


@dataclass(frozen=True)
class Slower:
    """Significant changes first, and of these the greatest gain of share."""

    base_processes: int
    new_processes: int
    rows: list[SlowerRow]

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": "share of running time",
            "level": LEVEL,
            "base_processes": self.base_processes,
            "new_processes": self.new_processes,
            "rows": [row.to_json() for row in self.rows],
        }


def slower(base: Asked, new: Asked, *, top: int | None = None) -> Slower:
    of_base, base_count, base_samples = _groups(base)
    of_new, new_count, new_samples = _groups(new)
    functions = {one[0]: one[1] for asked in (base, new) for one in _named(asked)}
    none = (0.0, 0.0)
    keys = sorted({*of_base, *of_new})
    pairs = []
    for key in keys:
        one, other = of_base.get(key, none), of_new.get(key, none)
        # What both have in common is the share that chance would scatter around.
        share = (one[0] + other[0]) / max(base_count + new_count, 1)
        chance = share * (1 - share)
        before = _group(*one, base_count, chance / max(base_samples, 1))
        pairs.append((key, before, _group(*other, new_count, chance / max(new_samples, 1))))
    chances = [_chance(before, after) for _, before, after in pairs]
    adjusted = _adjusted(chances)
    rows = [
        SlowerRow(functions[key], before, after, p, q)
        for (key, before, after), p, q in zip(pairs, chances, adjusted, strict=True)
    ]
    rows.sort(key=lambda row: (not row.significant, -row.delta, json.dumps(row.function)))
    return Slower(base_count, new_count, rows[:top])


def _named(asked: Asked) -> list[tuple[int, dict[str, Any]]]:
    functions = functions_of(asked)
    return [
        (hash_, functions.all[number].to_json())
        for hash_, number in zip(functions.hashes.tolist(), functions.number.tolist(), strict=True)
    ]


def _groups(asked: Asked) -> tuple[dict[int, tuple[float, float]], int, float]:
    """By function the sum of its shares and of their squares; how many processes there are, and
    how many samples each one has on average.

    A process in which it was not seen has a share of 0, and adds to neither sum.
    """
    found = shares(asked, "process")
    count = int(found.unit.nunique().to_pyarrow().as_py())
    rows = (
        found.group_by("function")
        .aggregate(one=found.share.sum(), squares=(found.share * found.share).sum())
        .to_pyarrow()
        .to_pylist()
    )
    samples = asked.samples
    taken = int(samples.filter(samples.state == RUNNING).count().to_pyarrow().as_py())
    found_sums = {row["function"]: (row["one"], row["squares"]) for row in rows}
    return found_sums, count, taken / max(count, 1)


def _group(total: float, squares: float, count: int, sampled: float) -> Group:
    """`sampled` is the variance that counting samples has: a few processes may happen to agree by
    more than that, but know no better."""
    if not count:
        return Group(0.0, 0.0, 0)
    mean = total / count
    variance = max(squares - count * mean * mean, 0.0) / (count - 1) if count > 1 else 0.0
    return Group(mean, max(variance, sampled), count)


def _chance(base: Group, new: Group) -> float | None:
    if base.processes < FEWEST or new.processes < FEWEST:
        return None
    if max(base.mean, new.mean) < LEAST:
        return None
    from scipy import stats

    if not base.variance and not new.variance:
        return 1.0  # All of the time, or none of it, in both.
    answer = stats.ttest_ind_from_stats(
        base.mean, math.sqrt(base.variance), base.processes,
        new.mean, math.sqrt(new.variance), new.processes, equal_var=False,
    )  # fmt: skip
    return float(answer.pvalue)


def _adjusted(chances: list[float | None]) -> list[float | None]:
    known = [p for p in chances if p is not None]
    if not known:
        return list(chances)
    from scipy import stats

    corrected = iter(stats.false_discovery_control(known).tolist())
    return [None if p is None else next(corrected) for p in chances]
