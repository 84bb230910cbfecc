"""The benchmark that finds what a tick costs, on rounds whose cost is known."""

from __future__ import annotations

import random
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
PERIOD = 10_000_000.0
ROUND = 500_000.0


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import importlib

    return importlib.import_module("cost.ticks")


def rounds_with(ticks: Any, cost: float, after: float, seed: int) -> Any:
    """Rounds on a host whose speed changes by half for some hundred of them at a time, each a
    twentieth off, one in fifty by three tenths. A tick costs its round `cost`, the next `after`."""
    draw = np.random.default_rng(seed)
    now, due, slow, left, owed = 0.0, PERIOD * draw.random(), 1.0, 0.0, 0.0
    began, took, paces, came = [], [], [], []
    for _ in range(30_000):
        if left <= 0:
            slow, left = (1.0 if slow > 1.5 else draw.choice([1.0, 2.0])), draw.exponential(1000)
        left -= 1
        now += draw.random() * 100_000  # between rounds
        while due < now:
            due += PERIOD
        end = now + ROUND * slow * (1 + 0.05 * draw.standard_normal()) + owed
        end += 0.3 * ROUND if draw.random() < 0.02 else 0.0
        owed = 0.0
        while due < end:
            came.append(due)
            end += cost * slow
            owed += after * slow
            due += PERIOD
        began.append(now)
        took.append(end - now)
        paces.append(slow * (1 + 0.1 * draw.random()))
        now = end
    columns = [np.array(column) for column in (began, took, took, paces, came)]
    return ticks.Rounds(*columns)


@pytest.mark.parametrize(("cost", "after"), [(0, 0), (20_000, 0), (40_000, 10_000), (400_000, 0)])
def test_the_cost_of_a_tick_is_found(ticks: Any, cost: float, after: float) -> None:
    found = [ticks.cost_ns(rounds_with(ticks, cost, after, seed)) for seed in range(4)]
    # Of the slow ones nothing counts, so it is the cost at full speed.
    mean = sum(figure.value for figure in found) / len(found)
    assert abs(mean - cost - after) < 5_000, found
    assert all(figure.high - figure.low < 25_000 for figure in found)
    assert sum(figure.low <= cost + after <= figure.high for figure in found) >= 3, found


def test_a_round_that_was_long_by_itself_does_not_seem_to_have_cost_a_tick(ticks: Any) -> None:
    """Counted by what is in them, rounds with ticks are longer although ticks cost nothing."""
    rounds = rounds_with(ticks, 0, 0, 7)
    inside = ticks._ticks_in(rounds, rounds.wall) > 0
    longer = rounds.cpu[inside].mean() - rounds.cpu[~inside].mean()
    assert longer > 20_000
    assert abs(ticks.cost_ns(rounds).value) < longer / 2


class Machine:
    """Takes the place of `time`: its clocks go on by what is done."""

    def __init__(self) -> None:
        self.cpu = self.asleep = 0
        self.stretches: list[int] = []

    def spend(self, ns: int) -> None:
        self.cpu += ns

    def collect(self) -> None:
        self.spend(4_000_000)
        self.stretches.append(self.cpu)

    def thread_time_ns(self) -> int:
        self.spend(4_000)
        return self.cpu

    def monotonic_ns(self) -> int:
        return self.thread_time_ns() + self.asleep

    def monotonic(self) -> float:
        return self.monotonic_ns() / 1e9

    def sleep(self, seconds: float) -> None:
        self.asleep += int(seconds * 1e9)


def test_ticks_come_at_any_place_of_a_stretch(ticks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds after a collection take longer: ticks that keep coming there would seem dear, or that
    never do cheap, and neighbouring blocks would agree on it."""
    from harness import pace, tick_rounds

    machine = Machine()
    monkeypatch.setattr(tick_rounds, "time", machine)
    monkeypatch.setattr(pace, "time", machine)
    monkeypatch.setattr(tick_rounds.gc, "collect", machine.collect)
    tick_rounds.rounds_of(lambda: machine.spend(500_000), 1, 10.0, random.Random(1))
    # From one stretch to the next the timer is further on by any part of its period, so that these
    # parts, as directions on a circle, have no direction in common.
    further = np.diff(machine.stretches) / PERIOD
    assert len(further) > 400
    assert abs(np.exp(2j * np.pi * further).mean()) < 0.15
    assert machine.asleep > 0  # and the timer has no fixed phase against the clock


def test_rounds_at_full_speed_count(ticks: Any) -> None:
    from harness import pace

    paces = [100, 210, 120, 190, 126, 105]
    assert pace.at_full_speed(range(6), paces, 2) == [0, 2, 5]
    assert pace.at_full_speed([1, 3, 4, 5], paces, 2) == [4, 5]  # one alone would be too few


def test_what_one_costs_above_another_is_as_uncertain_as_both(ticks: Any) -> None:
    above = ticks.difference(ticks.Figure(30.0, 26.0, 33.0), ticks.Figure(10.0, 6.0, 13.0))
    assert (above.value, above.low, above.high) == (20.0, 15.0, 25.0)


def catches(number: int) -> bool:
    status = Path("/proc/self/status").read_text()
    (caught,) = re.findall(r"SigCgt:\s*([0-9a-f]+)", status)
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("kind", ["TellingTimer", "TellingSignal"])
def test_a_timer_alone_tells_when_it_struck(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    from harness import floor

    timer = getattr(floor, kind)(rate=1000)
    before = catches(signal.SIGTRAP)
    began, cpu = time.monotonic_ns(), time.thread_time_ns()
    try:
        timer.on()
    except PermissionError as error:
        pytest.skip(str(error))
    while time.thread_time_ns() - cpu < 100_000_000:
        pass
    ticks, ended = timer.ticks(), time.monotonic_ns()
    used_ms = (time.thread_time_ns() - cpu) / 1e6
    timer.off()
    assert catches(signal.SIGTRAP) == before
    assert ticks == sorted(ticks)
    assert began < ticks[0]
    assert ticks[-1] < ended
    # One that the host was late for stands for those it missed; and the timer goes on while the
    # host has the processor, which a thread's clock may leave out.
    assert used_ms / 5 <= len(ticks) <= (ended - began) / 1e6 + 1
