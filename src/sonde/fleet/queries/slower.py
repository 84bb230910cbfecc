"""What became slower from one group of processes to another, and is it more than chance?

A function's share of the running time is measured in each process, and the two groups are compared.
How often that is wrong where nothing changed is measured: benchmarks/accuracy/slower.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.fleet.queries.contexts import functions_of
from sonde.fleet.queries.shares import shares
from sonde.model.group_comparison import LEVEL, Group, Measured, verdicts
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery


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
