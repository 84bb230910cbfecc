"""What became slower from one group of processes to another, and is it more than chance?

Samples of one process are not independent, so processes are what is counted: a function's share of
the running time is measured in each, and the two groups are compared by Welch's test. Many
functions are looked at, so what is called significant is corrected for that (Benjamini, Hochberg).
How often that is wrong where nothing changed is measured: benchmarks/accuracy/slower.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.fleet.queries.contexts import functions_of
from sonde.fleet.queries.shares import shares
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery

LEVEL = 0.05
"""Of what is called significant, so many in a hundred may be chance."""
COUNTED = 81
"""A function with fewer samples than this in both groups together is not asked about: each question
more makes every answer less sure, and this one would have none. Of N samples a function that takes
twice as much in one group has N / 3 more there, and counting alone scatters by the root of N; less
than three times that is not seen. How many there are in both groups together says nothing about how
they differ, so choosing by it does not favour any answer."""
MIN_COUNT = 2
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
    few samples."""
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
            "unit": "share of on-CPU time",
            "level": LEVEL,
            "base_processes": self.base_processes,
            "new_processes": self.new_processes,
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True)
class Measured:
    """What is known of one group."""

    shares: dict[int, tuple[float, float]]
    """By function the sum of its shares and of their squares. A process in which it was not seen
    has a share of 0, and adds to neither sum."""
    processes: int
    samples: int
    scatter: float
    """The mean, over processes, of one by their samples: times s (1 - s) it is the variance that
    counting samples gives a share s. A few processes may happen to agree by more than that, but
    know no better."""


@dataclass(frozen=True)
class Verdict:
    function: int
    base: Group
    new: Group
    p: float | None
    adjusted: float | None


def slower(base: StoreQuery, new: StoreQuery, *, top: int | None = None) -> Slower:
    before, after = measured(base), measured(new)
    functions = {one[0]: one[1] for asked in (base, new) for one in _named(asked)}
    rows = [
        SlowerRow(functions[one.function], one.base, one.new, one.p, one.adjusted)
        for one in verdicts(before, after)
    ]
    rows.sort(key=lambda row: (not row.significant, -row.delta, json.dumps(row.function)))
    return Slower(before.processes, after.processes, rows[:top])


def _named(asked: StoreQuery) -> list[tuple[int, dict[str, Any]]]:
    functions = functions_of(asked)
    return [
        (hash_, functions.all[number].to_json())
        for hash_, number in zip(functions.hashes.tolist(), functions.number.tolist(), strict=True)
    ]


def measured(asked: StoreQuery) -> Measured:
    found = shares(asked, "process")
    rows = (
        found.group_by("function")
        .aggregate(one=found.share.sum(), squares=(found.share * found.share).sum())
        .to_pyarrow()
        .to_pylist()
    )
    samples = asked.samples
    samples = samples.filter(samples.state == RUNNING)
    taken = samples.group_by("thread").aggregate(taken=samples.count())
    placed = taken.join(asked.threads.select("thread", "process"), "thread")
    each = placed.group_by("process").aggregate(taken=placed.taken.sum())
    (row,) = (
        each.aggregate(
            processes=each.count(),
            samples=each.taken.sum(),
            scatter=(1 / each.taken.cast("float64")).mean(),
        )
        .to_pyarrow()
        .to_pylist()
    )
    return Measured(
        {one["function"]: (one["one"], one["squares"]) for one in rows},
        row["processes"],
        row["samples"] or 0,
        row["scatter"] or 0.0,
    )


def verdicts(base: Measured, new: Measured) -> list[Verdict]:
    """All functions of both, in the order of their ids."""
    keys = sorted({*base.shares, *new.shares})
    none = (0.0, 0.0)
    sums = [
        np.array([of.shares.get(key, none) for key in keys]).reshape(-1, 2) for of in (base, new)
    ]
    # What both have in common is the share that chance would scatter around.
    share = (sums[0][:, 0] + sums[1][:, 0]) / max(base.processes + new.processes, 1)
    groups = [
        _spread(of, sums[i], share * (1 - share) * of.scatter) for i, of in enumerate((base, new))
    ]
    asked = share * (base.samples + new.samples) >= COUNTED
    if min(base.processes, new.processes) < MIN_COUNT:
        asked[:] = False
    chance: list[float | None] = [None] * len(keys)
    adjusted = list(chance)
    if asked.any():
        from scipy import stats

        figures = [
            column
            for (mean, variance), of in zip(groups, (base, new), strict=True)
            for column in (mean[asked], np.sqrt(variance[asked]), of.processes)
        ]
        answer = stats.ttest_ind_from_stats(*figures, equal_var=False)
        # Where nothing scatters it is all of the time, or none of it, in both.
        known = np.nan_to_num(answer.pvalue, nan=1.0)
        corrected = stats.false_discovery_control(known)
        for place, p, q in zip(np.flatnonzero(asked), known, corrected, strict=True):
            chance[place], adjusted[place] = float(p), float(q)
    before, after = (
        [Group(float(mean), float(variance), of.processes)
         for mean, variance in zip(*columns, strict=True)]
        for columns, of in zip(groups, (base, new), strict=True)
    )  # fmt: skip
    return [Verdict(*one) for one in zip(keys, before, after, chance, adjusted, strict=True)]


def _spread(of: Measured, sums: Any, sampled: Any) -> tuple[Any, Any]:
    """Means and variances of the shares of a group, by function."""
    count = max(of.processes, 1)
    mean = sums[:, 0] / count
    variance = np.maximum(sums[:, 1] - count * mean * mean, 0) / max(count - 1, 1)
    return mean, np.maximum(variance, sampled)
