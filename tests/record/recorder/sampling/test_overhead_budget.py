"""A budget is held by the rate, and what the rate changes is not what a recording says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from attaching import Target, attached
from launching import TARGETS, Interpreter, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.record.recorder.sampling.overhead_budget import WINDOW_NS, Cost, OverheadBudget
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat

PYTHONS = OLDEST_AND_NEWEST
S = 1_000_000_000


class World:
    """Costs as they follow from a rate: so much a sample, and so much in any case."""

    def __init__(self, share: float, rate: int, interrupt_ns: int = 0) -> None:
        self.budget = OverheadBudget(share, rate, 0, interrupt_ns)
        self.now = self.agent = self.recorder = self.samples = 0
        self.rates = [rate]

    def run(self, windows: int, cpu: float, a_sample: int, fixed: float) -> list[float]:
        """Shares used, window by window, of a target that uses `cpu` cores."""
        used = []
        for _ in range(windows):
            samples = int(self.budget.rate * cpu * WINDOW_NS / S)
            spent = int(samples * a_sample), int(fixed * WINDOW_NS)
            self.samples += samples
            self.agent += spent[0]
            self.recorder += spent[1]
            self.now += WINDOW_NS
            used.append(sum(spent) / WINDOW_NS)
            rate = self.budget.step(self.now, Cost(self.agent, self.recorder, self.samples))
            if rate is not None:
                assert rate == self.budget.rate
                self.rates.append(rate)
        return used


def test_a_rate_that_costs_little_stays() -> None:
    world = World(0.01, 1000)
    world.run(50, cpu=0.3, a_sample=4_000, fixed=0.002)
    assert world.rates == [1000]
    facts = world.budget.facts()["budget"]
    assert (facts["rate_lowest"], facts["rate_highest"], facts["rate_changes"]) == (1000, 1000, 0)


def test_what_is_too_dear_becomes_cheap_and_stays_so() -> None:
    world = World(0.01, 1000)
    used = world.run(40, cpu=4, a_sample=8_000, fixed=0.003)
    assert used[1] > 0.01
    # Settled, and not swinging: the last thirty windows are all below, with few changes.
    assert max(used[10:]) <= 0.01
    assert min(used[10:]) > 0.005
    assert len(world.rates) <= 6
    assert world.rates[-1] < 1000


def test_the_rate_comes_back_slowly_and_never_above_what_was_asked() -> None:
    world = World(0.01, 1000)
    world.run(10, cpu=8, a_sample=8_000, fixed=0.001)
    low = world.budget.rate
    used = world.run(60, cpu=0.2, a_sample=8_000, fixed=0.001)
    assert world.budget.rate == 1000
    assert max(used) <= 0.01
    rising = world.rates[world.rates.index(low) :]
    assert all(b <= a * 1.5 + 1 for a, b in pairwise(rising))


def test_a_load_that_swings_does_not_make_the_rate_swing() -> None:
    world = World(0.01, 1000)
    world.run(10, cpu=2, a_sample=6_000, fixed=0.002)
    before = len(world.rates)
    for _ in range(20):
        world.run(1, cpu=2, a_sample=6_000, fixed=0.002)
        world.run(1, cpu=1.7, a_sample=6_000, fixed=0.002)
    assert len(world.rates) - before <= 2


def test_interrupts_count_where_their_cost_is_known() -> None:
    cheap, dear = World(0.01, 1000), World(0.01, 1000, interrupt_ns=6_000)
    for world in (cheap, dear):
        world.run(20, cpu=1, a_sample=2_000, fixed=0.003)
    assert cheap.budget.rate == 1000
    assert dear.budget.rate < 1000
    assert cheap.budget.facts()["budget"]["interrupt_ns"] is None


def test_a_budget_that_cannot_be_held_says_so() -> None:
    world = World(0.01, 1000)
    world.run(30, cpu=1, a_sample=2_000, fixed=0.05)
    facts = world.budget.facts()["budget"]
    assert facts["rate_now"] == facts["rate_lowest"] == 1
    assert facts["windows_over_at_lowest_rate"] > 10
    assert facts["used"] > facts["share"]


def test_shares_stay_right_over_changes_of_the_rate(
    any_python: Interpreter, keep: Callable[[str], Path]
) -> None:
    """A real program, one third of whose time is in one function, on a budget that is too small."""
    with Target(any_python, TARGETS / "thirds.py", "60") as target:
        run = attached(
            target.pid, keep("thirds"), "--for", "6", "--rate", "5000", "--budget", "0.5%"
        )
    recording = run.recording
    budget = recording.quality["budget"]
    assert budget["rate_changes"] >= 1
    assert budget["rate_lowest"] < 5000
    assert budget["rate_highest"] == 5000
    # Each sample weighs the CPU time since the last one, at whatever rate that was.
    samples, threads = recording.samples, recording.threads
    main = threads.name.index("MainThread")
    weights = samples.weight[samples.thread == main]
    assert int(weights.sum()) == pytest.approx(int(threads.cpu_ns[main]), rel=0.03)
    assert np.percentile(weights, 99) > 3 * np.percentile(weights, 1)
    rows = {row.function.name: row.total_ns for row in flat(recording, Selection()).rows}
    third = rows["third"] / (rows["third"] + rows["two_thirds"])
    # The weight that one late sample may carry, and the statistical error of those there are.
    assert third == pytest.approx(1 / 3, abs=0.08)


@pytest.mark.parametrize("text", ["0", "0%", "lots", "101%", "-1%"])
def test_a_wrong_budget(text: str, tmp_path: Path) -> None:
    done = sonde("run", "-o", tmp_path / "x.sonde", f"--budget={text}", "--", "true")
    assert done.returncode == 2
    assert "give a percentage of one core, such as 1%" in done.stderr
