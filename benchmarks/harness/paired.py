"""Figures out of paired slices: medians of ratios within a round, with their uncertainty.

A ratio is taken only between slices of the same round, and only rounds beside quiet neighbours
count, of those the ones at the machine's full speed: what a round was worth is decided before
anybody looks at its slices. The interval is the percentile bootstrap's: rounds are drawn again with
replacement, within each program, and the figure is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import pace
from harness.neighbours import QUIET

DRAWS = 2000
LEVEL = 95
# With fewer quiet rounds than this the disturbed ones are used too, and the table says so.
MIN_COUNT = 5

Column = NDArray[np.float64]


@dataclass
class Rounds:
    """The slices of one worker: per condition, one CPU and one wall time for each round."""

    cpu: dict[str, Column]
    wall: dict[str, Column]
    noisy: bool
    """True if too few had quiet neighbours, so that the others are in as well."""
    rate: int
    """Samples due in a second of CPU time."""

    @property
    def count(self) -> int:
        return len(next(iter(self.cpu.values())))


def rounds_of(answer: dict[str, Any], rate: int) -> Rounds:
    """The slices of a worker's answer, of the rounds that can be trusted."""
    slices: list[tuple[int, str, float, float]] = answer["slices"]
    others: list[float] = answer["others"]
    turns = [turn for turn, share in enumerate(others) if share <= QUIET]
    noisy = len(turns) < MIN_COUNT
    if noisy:
        turns = list(range(len(others)))
    if "pace" in answer:
        turns = pace.at_full_speed(turns, answer["pace"], MIN_COUNT)
    kept = set(turns)
    cpu: dict[str, list[float]] = {}
    wall: dict[str, list[float]] = {}
    for turn, condition, cpu_ns, wall_ns in slices:
        if turn in kept:
            cpu.setdefault(condition, []).append(cpu_ns)
            wall.setdefault(condition, []).append(wall_ns)
    return Rounds(
        {name: np.array(values, dtype=np.float64) for name, values in cpu.items()},
        {name: np.array(values, dtype=np.float64) for name, values in wall.items()},
        noisy,
        rate,
    )


@dataclass
class Figure:
    """A value and the interval it lies in."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Figure:
        return Figure(self.value * factor, self.low * factor, self.high * factor)


def overhead(times: dict[str, Column], condition: str, base: str = "off") -> Column:
    """Per round, how much longer a slice took under `condition`: 0.02 is two percent."""
    return times[condition] / times[base] - 1


def above_us(rounds: Rounds, condition: str, base: str) -> Column:
    """Per round, microseconds of CPU time a sample costs more under `condition`."""
    samples = rounds.rate * rounds.cpu[condition] / 1e9
    return (rounds.cpu[condition] - rounds.cpu[base]) / 1e3 / samples


def median(values: Column, seed: int = 0) -> Figure:
    return _figure([values], lambda medians: medians[0], seed)


def geometric_mean(ratios: Sequence[Column], seed: int = 0) -> Figure:
    """Of 1 + the median ratio of each program, minus 1."""
    return _figure(ratios, lambda m: np.expm1(np.log1p(m).mean(axis=0)), seed)


def mean(values: Sequence[Column], seed: int = 0) -> Figure:
    """Of the programs' medians."""
    return _figure(values, lambda m: m.mean(axis=0), seed)


def _figure(columns: Sequence[Column], figure: Callable[[Column], Column], seed: int) -> Figure:
    draw = np.random.default_rng(seed)
    value = figure(np.array([[np.median(column)] for column in columns]))
    drawn = figure(
        np.array(
            [np.median(draw.choice(column, (DRAWS, len(column))), axis=1) for column in columns]
        )
    )
    low, high = np.percentile(drawn, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Figure(float(np.ravel(value)[0]), float(low), float(high))
