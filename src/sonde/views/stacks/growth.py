"""Which functions' shares of on-CPU time grew by more than a limit, and is that more than chance?

Each recording is one run. Where a side has only one, the sampling error stands for chance, and how
much runs differ remains unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sonde.errors import SondeError
from sonde.model.group_comparison import LEVEL, MIN_COUNT, Measured, Verdict, verdicts
from sonde.model.trees.context_tree import sums
from sonde.views.selecting.own_code import with_vm_work
from sonde.views.selecting.profile import Function, profile
from sonde.views.stacks.function_match import same_functions

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

Measure = Literal["self", "total"]
MEASURES: tuple[Measure, ...] = ("self", "total")
GREW = "grew"
UNDECIDED = "undecided"
WITHIN = "within"


@dataclass(frozen=True)
class GrowthRow:
    """A function's share of on-CPU time, before and now."""

    function: Function
    measure: Measure
    verdict: Verdict
    base_samples: int
    new_samples: int
    outcome: str
    """`grew`: by more than the limit, and significantly. `undecided`: by more than the limit, but
    that may be chance. `within`: the rest."""

    @property
    def delta(self) -> float:
        return self.verdict.delta

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the growth; None: not tested, of too few samples."""
        margin = self.verdict.margin
        return None if margin is None else (self.delta - margin, self.delta + margin)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.function.name,
            "file": self.function.file,
            "line": self.function.line,
            "measure": self.measure,
            "base": self.verdict.base.mean,
            "new": self.verdict.new.mean,
            "delta": self.delta,
            "interval": self.interval,
            "base_samples": self.base_samples,
            "new_samples": self.new_samples,
            "p": self.verdict.p,
            "adjusted_p": self.verdict.adjusted,
            "verdict": self.outcome,
        }


@dataclass(frozen=True)
class Growth:
    """Functions that grew first, then the undecided ones, then the rest; of each the greatest
    growth first."""

    limit: float
    base_runs: int
    new_runs: int
    base_samples: int
    new_samples: int
    rows: list[GrowthRow]

    @property
    def compares_runs(self) -> bool:
        """Whether there are enough runs to know how much they differ."""
        return min(self.base_runs, self.new_runs) >= MIN_COUNT

    @property
    def grew(self) -> list[GrowthRow]:
        return [row for row in self.rows if row.outcome == GREW]

    @property
    def undecided(self) -> list[GrowthRow]:
        return [row for row in self.rows if row.outcome == UNDECIDED]

    @property
    def not_excluded(self) -> int:
        """Functions within the limit whose interval includes a growth above it."""
        within = (row for row in self.rows if row.outcome == WITHIN)
        beyond = {row.function for row in within if row.interval and row.interval[1] > self.limit}
        return len(beyond - {row.function for row in self.grew + self.undecided})

    @property
    def tested(self) -> int:
        return len({row.function for row in self.rows if row.verdict.p is not None})

    def to_json(self, top: int | None = None) -> dict[str, Any]:
        return {
            "unit": "share of on-CPU time",
            "limit": self.limit,
            "level": LEVEL,
            "compares": "runs" if self.compares_runs else "samples",
            "failed": bool(self.grew),
            "undecided": len({row.function for row in self.undecided}),
            "not_excluded": self.not_excluded,
            "tested": self.tested,
            "base_runs": self.base_runs,
            "new_runs": self.new_runs,
            "base_samples": self.base_samples,
            "new_samples": self.new_samples,
            "rows": [row.to_json() for row in self.rows[:top]],
        }


class _Run(NamedTuple):
    """Of one recording, by its functions' numbers."""

    functions: list[Function]
    shares: dict[Measure, Any]
    counts: dict[Measure, Ints]
    samples: int


def growth(
    base: Sequence[tuple[Recording, Selection]],
    new: Sequence[tuple[Recording, Selection]],
    limit: float,
) -> Growth:
    """`limit` is the allowed growth of a share: 0.05 from 20 % to 25 % of all on-CPU time."""
    runs = [[_run(*one) for one in side] for side in (base, new)]
    functions, numbers = _matched([run.functions for side in runs for run in side])
    of_new = numbers[len(base) :]
    groups = [
        _measured(side, which)
        for side, which in zip(runs, (numbers[: len(base)], of_new), strict=True)
    ]
    alone = min(len(base), len(new)) < MIN_COUNT
    found = verdicts(groups[0].of, groups[1].of, by_sampling_error=alone)
    rows = [
        GrowthRow(
            functions[verdict.function // len(MEASURES)],
            MEASURES[verdict.function % len(MEASURES)],
            verdict,
            groups[0].counts.get(verdict.function, 0),
            groups[1].counts.get(verdict.function, 0),
            _outcome(verdict, limit),
        )
        for verdict in found
    ]
    order = (GREW, UNDECIDED, WITHIN)
    rows.sort(key=lambda row: (order.index(row.outcome), -row.delta, row.measure, row.function))
    samples = [sum(run.samples for run in side) for side in runs]
    return Growth(limit, len(base), len(new), samples[0], samples[1], rows)


def _outcome(verdict: Verdict, limit: float) -> str:
    if verdict.delta <= limit:
        return WITHIN
    return GREW if verdict.significant else UNDECIDED


def _run(recording: Recording, selection: Selection) -> _Run:
    found = with_vm_work(profile(recording, selection, merge_lines=True))
    if not found.total:
        raise SondeError(f"{recording.path} has no on-CPU samples to compare")
    size = len(found.functions)
    outer = found.tree.outermost(found.function)

    def totals(own: Ints) -> Ints:
        return sums(found.function[outer], found.tree.totals(own)[outer], size)

    def selves(own: Ints) -> Ints:
        return sums(found.function, own, size)

    return _Run(
        found.functions,
        {"self": selves(found.own) / found.total, "total": totals(found.own) / found.total},
        {"self": selves(found.samples), "total": totals(found.samples)},
        int(found.samples.sum()),
    )


def _matched(runs: Sequence[list[Function]]) -> tuple[list[Function], list[Ints]]:
    """The functions of all runs, and by each run's own numbers which they are."""
    functions: list[Function] = []
    numbers: list[Ints] = []
    for run in runs:
        same = same_functions(functions, run)
        functions = same.functions
        numbers = [same.of_base[one] for one in numbers]
        numbers.append(same.of_new)
    return functions, numbers


class _Side(NamedTuple):
    of: Measured
    counts: dict[int, int]
    """Samples by what `of` calls a function."""


def _measured(runs: Sequence[_Run], numbers: Sequence[Ints]) -> _Side:
    """Self and total time of a function are two questions of one test."""
    shares: dict[int, tuple[float, float]] = {}
    counts: dict[int, int] = {}
    for run, number in zip(runs, numbers, strict=True):
        for place, measure in enumerate(MEASURES):
            for row in np.flatnonzero(run.shares[measure]).tolist():
                key = int(number[row]) * len(MEASURES) + place
                share = float(run.shares[measure][row])
                one, squares = shares.get(key, (0.0, 0.0))
                shares[key] = (one + share, squares + share * share)
                counts[key] = counts.get(key, 0) + int(run.counts[measure][row])
    samples = [run.samples for run in runs]
    scatter = sum(1 / count for count in samples) / len(samples)
    return _Side(Measured(shares, len(runs), sum(samples), scatter), counts)
