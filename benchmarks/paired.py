"""Figures out of paired slices: medians of ratios within a round, with their uncertainty.

A ratio is taken only between slices of the same round. The interval is the percentile bootstrap's:
rounds are drawn again with replacement, within each program, and the figure is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neighbours import QUIET

DRAWS = 2000
LEVEL = 95
# With fewer quiet rounds than this the disturbed ones are used too, and the table says so.
FEWEST = 5

Column = NDArray[np.float64]


@dataclass
class Rounds:
    """The slices of one worker: per condition, one CPU and one wall time for each round."""

    cpu: dict[str, Column]
    wall: dict[str, Column]
    disturbed: int
    """Rounds left out because neighbours were busy."""
    noisy: bool
    """True if too few were quiet, so all are in."""
    ticks: float = 1.0
    """Samples that sonde took in a slice, on average."""
    due: float = 1.0
    """Samples that were due in a slice at the rate asked for."""

    @property
    def count(self) -> int:
        return len(next(iter(self.cpu.values())))


def rounds_of(answer: dict[str, Any], rate: int) -> Rounds:
    """The slices of a worker's answer, without those beside busy neighbours if enough are left."""
    slices: list[tuple[int, str, int, int]] = answer["slices"]
    others: list[float] = answer["others"]
    quiet = [turn for turn, share in enumerate(others) if share <= QUIET]
    noisy = len(quiet) < FEWEST
    kept = set(range(len(others)) if noisy else quiet)
    cpu: dict[str, list[int]] = {}
    wall: dict[str, list[int]] = {}
    for turn, condition, cpu_ns, wall_ns in slices:
        if turn in kept:
            cpu.setdefault(condition, []).append(cpu_ns)
            wall.setdefault(condition, []).append(wall_ns)
    made = Rounds(
        {name: np.array(values, dtype=np.float64) for name, values in cpu.items()},
        {name: np.array(values, dtype=np.float64) for name, values in wall.items()},
        len(others) - len(kept),
        noisy,
    )
    sampled = [cpu_ns for _, condition, cpu_ns, _ in slices if condition == "sonde"]
    if sampled and answer["quality"].get("taken"):
        made.ticks = answer["quality"]["taken"] / len(sampled)
        made.due = sum(sampled) / len(sampled) / 1e9 * rate
    return made


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


def timer_overhead(rounds: Rounds, times: dict[str, Column], condition: str) -> Column:
    """The same for a timer, which starts anew with every slice and so ticks less than its rate.

    A slice of 14 ms holds one tick of a timer of 10 ms, not 1.4: what it cost is scaled up, by one
    factor for all rounds, because a factor of each round's own would be subject to its noise.
    """
    return overhead(times, condition) * rounds.due / rounds.ticks


def above_us(rounds: Rounds, condition: str, base: str) -> Column:
    """Per round, microseconds of CPU time a sample costs more under `condition`."""
    return (rounds.cpu[condition] - rounds.cpu[base]) / 1e3 / rounds.ticks


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
