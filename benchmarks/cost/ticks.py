"""What one tick costs, from the rounds that ticks fall into.

Slices with and without sonde have to be long enough to hold ticks, and on a machine whose speed
changes all the time what a hundred ticks a second cost is lost in that. But each tick falls into
one short round of the program's work, and the rounds just before and after it are the same work
without it. Two things must not bias the comparison:

- a round that was long for another reason is more likely to have a tick in it. So ticks are counted
  by an instrument: whether one came within a fixed time after the round began, which does not
  depend on how long it then took (two-stage least squares);
- what a tick leaves behind (cold caches, code that has to be specialised again) falls into the
  rounds after it, of which some are counted as well.

Only rounds at the machine's full speed count: on a core that others have as well, a tick takes
twice as long. What costs something without a tick is not in it; that shows in paired slices only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost.overhead import ABOVE_FLOOR_US, CALLS_GOAL, GOALS, answered
from harness import kept
from harness.pace import FULL
from harness.packages import SOURCE, Environment
from harness.paired import LEVEL, Figure
from harness.progress import say
from publish.markdown import Section, measured_verdict, micro, percent

RATE = 100
KINDS: dict[str, tuple[str, float | None, Callable[..., Any]]] = {
    "timer": ("the timer alone", None, np.mean),
    "signal": ("and a signal", None, np.mean),
    "cpu": ("a sample", GOALS[RATE], np.mean),
    "calls": ("a window of calls", CALLS_GOAL, np.median),
}
"""What is recorded at each tick, and how much of the CPU time that may cost in the mean or the
median of the programs. The timer alone interrupts and does nothing else; with it comes a signal to
a handler that returns at once."""
BESIDE = 6
"""Rounds on each side that a round is compared with."""
FAR_NS = (1_000_000, 300_000, 300_000, 300_000)
"""One that took so much longer than those was disturbed: no tick costs as much above the others. In
the first pass, which does not know yet what they cost, and in those after it: the rounds beside one
have ticks too, which are taken away once their cost is known."""
SOON = 0.5
"""The fixed time, in rounds as short as they get."""
FELT = 2
"""Rounds in which a tick is felt, its own among them."""
BLOCK = 400
"""Rounds that are drawn together, as they are not independent."""
DRAWS = 2000
NORMAL = 1.96

Floats = NDArray[np.float64]


@dataclass
class Rounds:
    """When each began, how long it took on the clock and in CPU time (ns), how slow the machine
    was then, and the ticks."""

    began: Floats
    wall: Floats
    cpu: Floats
    pace: Floats
    ticks: Floats

    @property
    def full(self) -> NDArray[np.bool_]:
        """Which were at the machine's full speed."""
        return self.pace <= FULL * self.pace.min()


def cost_ns(rounds: Rounds, seed: int = 0) -> Figure:
    """CPU time that a tick costs, with its interval."""
    soon = SOON * float(np.percentile(rounds.cpu, 5))
    number = _ticks_in(rounds, rounds.wall)
    instrument = np.minimum(_ticks_in(rounds, np.full(len(rounds.cpu), soon)), 1)
    felt = np.zeros(FELT)
    for far in FAR_NS:
        left, right = _equations(rounds.cpu, number, instrument, felt, rounds.full, far)
        felt = _solved(left.sum(axis=0), right.sum(axis=0))[1:]
    draw = np.random.default_rng(seed)
    chosen = draw.integers(0, len(left), (DRAWS, len(left)))
    drawn = [_solved(left[rows].sum(axis=0), right[rows].sum(axis=0))[1:].sum() for rows in chosen]
    low, high = np.percentile(drawn, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Figure(float(felt.sum()), float(low), float(high))


def _ticks_in(rounds: Rounds, lasting: Floats) -> Floats:
    ends = np.searchsorted(rounds.ticks, rounds.began + lasting)
    return np.asarray(ends - np.searchsorted(rounds.ticks, rounds.began), dtype=np.float64)


def _since(values: Floats) -> Floats:
    """A row for each round: of itself, of the one before it, and so on."""
    rows = [np.concatenate([np.zeros(late), values[: len(values) - late]]) for late in range(FELT)]
    return np.stack(rows, axis=1)


def _equations(
    cpu: Floats,
    number: Floats,
    instrument: Floats,
    felt: Floats,
    full: NDArray[np.bool_],
    far: float,
) -> tuple[Floats, Floats]:
    """Of what a round takes longer than those beside it, on the ticks in it and in those before:
    both sides of the normal equations, by blocks."""
    ticks = _since(number)
    bare = cpu - ticks @ felt
    beside = _beside(bare)
    like = (bare - beside < far) & full
    like[:FELT] = False
    one = np.ones((len(cpu), 1))
    causes = np.hstack([one, ticks])
    instruments = np.hstack([one, _since(instrument)]) * like[:, None]
    at = np.arange(0, len(cpu), BLOCK)
    left = np.add.reduceat(instruments[:, :, None] * causes[:, None, :], at, axis=0)
    right = np.add.reduceat(instruments * (cpu - beside)[:, None], at, axis=0)
    return left, right


def _beside(values: Floats) -> Floats:
    """The median of those beside each, without itself."""
    padded = np.pad(values, BESIDE, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * BESIDE + 1)
    return np.asarray(np.median(np.delete(around, BESIDE, axis=1), axis=1))


def _solved(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])


@dataclass(frozen=True)
class Tick:
    """What one costs a program, by the rounds that were timed."""

    rounds: Rounds
    rate: int

    @property
    def cost(self) -> Figure:
        return cost_ns(self.rounds)

    @property
    def never(self) -> Figure:
        """The same for ticks that never were, half a period after those that came."""
        return cost_ns(replace(self.rounds, ticks=self.rounds.ticks + 1e9 / self.rate / 2))


def measured(
    env: Environment,
    program: str,
    rate: int,
    what: str,
    seconds: float,
    folder: Path,
    **calls: int,
) -> Tick:
    say(f"ticks: {program}, {what}, {rate} Hz, Python {env.version}")
    answer: dict[str, Any] = kept.result(
        "ticks", env.version, program, what, f"{rate}Hz",
        measure=lambda: _answered(env, program, rate, what, seconds, folder, calls),
        seconds=seconds, **calls,
    )  # fmt: skip
    columns = np.array(answer["rounds"], dtype=np.float64).T
    return Tick(Rounds(*columns, np.array(answer["ticks"], dtype=np.float64)), rate)


def _answered(
    env: Environment, program: str, rate: int, what: str, seconds: float, folder: Path,
    calls: dict[str, int],
) -> dict[str, Any]:  # fmt: skip
    from sonde.recording.reader import read

    job = {"program": program, "rate": rate, "what": what, "seconds": seconds, "calls": calls,
           "source": str(SOURCE), "recorder": sys.executable, "folder": str(folder)}  # fmt: skip
    answer: dict[str, Any] = answered(env, "tick_rounds.py", job)
    if "ticks" in answer:
        return answer
    path = folder / "worker.sonde"
    recording = read(path)
    began = recording.target["session"]["clock_ns"]
    answer["ticks"] = (np.sort(recording.samples.time) + began).tolist()
    path.unlink()
    return answer


def in_common(costs: Sequence[Figure], how: Callable[..., Any], seed: int = 0) -> Figure:
    """The mean or the median of several programs' costs, which were measured apart."""
    values = np.array([cost.value for cost in costs])
    errors = np.array([(cost.high - cost.low) / 2 / NORMAL for cost in costs])
    drawn = how(np.random.default_rng(seed).normal(values, errors, (DRAWS, len(costs))), axis=1)
    low, high = np.percentile(drawn, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Figure(float(how(values)), float(low), float(high))


def report(
    section: Section, env: Environment, names: Sequence[str], seconds: float, folder: Path
) -> None:
    names = [name for name in names if env.runs(name)]
    if not names:
        return
    found: dict[str, list[Tick]] = {kind: [] for kind in KINDS}
    for name in names:  # one kind just after the other: the host changes
        for kind, ticks in found.items():
            ticks.append(measured(env, name, RATE, kind, seconds, folder))
    costs = {kind: [tick.cost for tick in ticks] for kind, ticks in found.items()}
    total = {kind: in_common(costs[kind], how) for kind, (_, _, how) in KINDS.items()}
    rows = []
    for i, name in enumerate(names):
        full = np.mean([ticks[i].rounds.full.mean() for ticks in found.values()])
        rows.append([name, *_cells([of[i] for of in costs.values()]), f"{100 * full:.0f} %"])
    rows.append(["**mean / median**", *_cells(list(total.values())), ""])
    never = {kind: [tick.never for tick in ticks] for kind, ticks in found.items()}
    nothing = [in_common(never[kind], how) for kind, (_, _, how) in KINDS.items()]
    rows.append(["ticks that never were", *_cells(nothing), ""])
    head = ["program"]
    for words, _, _ in KINDS.values():
        head += [f"{words}, µs", "of CPU time"]
    head.append("at full speed")
    section.table(f"At {RATE} Hz, by the rounds it falls into, Python {env.version}", head, rows)
    above = difference(total["cpu"], total["timer"]).times(1e-3)
    lines = [
        measured_verdict(
            f"{words}, {RATE} times a second of CPU time", share(total[kind]).times(100),
            100 * goal, "%", percent(share(total[kind])),
        )
        for kind, (words, goal, _) in KINDS.items()
        if goal is not None
    ]  # fmt: skip
    what = f"a sample above the timer alone, {RATE} times a second"
    lines.append(measured_verdict(what, above, ABOVE_FLOOR_US, "µs", micro(above)))
    each = [cost for costs in never.values() for cost in costs]
    right = sum(cost.low <= 0 <= cost.high for cost in each)
    lines.append(f"intervals of ticks that never were with 0 in them: {right} of {len(each)}")
    section.goals(lines)


def difference(one: Figure, other: Figure) -> Figure:
    """Of two that were measured apart."""
    value = one.value - other.value
    below = np.hypot(one.value - one.low, other.high - other.value)
    above = np.hypot(one.high - one.value, other.value - other.low)
    return Figure(value, value - float(below), value + float(above))


def share(cost: Figure) -> Figure:
    """Of the CPU time, at the usual rate."""
    return cost.times(RATE / 1e9)


def _cells(costs: Sequence[Figure]) -> list[str]:
    return [cell for cost in costs for cell in (micro(cost.times(1e-3)), percent(share(cost)))]
