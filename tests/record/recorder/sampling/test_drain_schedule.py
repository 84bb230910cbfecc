"""How long a recorder sleeps."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.record.recorder.sampling import drain_schedule as pace_module
from sonde.record.recorder.sampling.drain_schedule import (
    FRUGAL,
    MAX_BURST_S,
    MAX_PAUSE_IF_RARE_S,
    MAX_PAUSE_S,
    MAX_REST_S,
    MIN_PAUSE_S,
    DrainSchedule,
)
from sonde.record.system.procfs import runnable


def config(*what: str, rate: int = 1000) -> dict[str, Any]:
    return {"what": list(what), "rate": rate, "calls": {"samples": 100, "ticks": 100}}


def test_as_long_as_it_may_be() -> None:
    assert DrainSchedule(config("cpu"), frugal=False).sleep == MAX_PAUSE_S
    assert (
        DrainSchedule(config("cpu", "threads", rate=100), frugal=False).sleep == MAX_PAUSE_IF_RARE_S
    )
    assert DrainSchedule(config("cpu", "locks", rate=100), frugal=False).sleep == MAX_PAUSE_S
    assert DrainSchedule(config("cpu", rate=100), frugal=True).sleep == FRUGAL
    assert DrainSchedule(config("cpu", rate=4000), frugal=True).sleep == 0.025
    assert DrainSchedule(config("cpu", "calls", rate=100), frugal=False).sleep == 0.03
    assert DrainSchedule(config("cpu", rate=1_000_000), frugal=False).sleep == MIN_PAUSE_S
    assert DrainSchedule(config("cpu"), frugal=False).flush_ns == MAX_PAUSE_S * 1e9
    assert DrainSchedule(config("cpu"), frugal=True).flush_ns == FRUGAL * 1e9


def test_events_come_in_bursts() -> None:
    pace = DrainSchedule(config("cpu", "event:page-faults"), frugal=False)
    assert pace.sleep == MIN_PAUSE_S
    pace.set_rate(100)
    assert pace.sleep == MIN_PAUSE_S
    pace.set_capture(["cpu"], 100)
    assert pace.sleep == MAX_PAUSE_IF_RARE_S
    pace.set_rate(1000)
    assert pace.sleep == MAX_PAUSE_S


def test_full_rings_shorten_it_and_empty_ones_bring_it_back() -> None:
    pace = DrainSchedule(config("cpu"), frugal=False)
    pace.drained(0.5)
    assert pace.sleep == MAX_PAUSE_S / 2
    pace.drained(0.1)
    assert pace.sleep == MAX_PAUSE_S / 2
    for _ in range(10):
        pace.drained(0.5)
    assert pace.sleep == MIN_PAUSE_S
    for _ in range(10):
        pace.drained(0.0)
    assert pace.sleep == MAX_PAUSE_S


def test_with_few_processors_it_rests_as_long_as_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace_module, "runnable", lambda: 3)
    pace = DrainSchedule(config("cpu"), frugal=False, cpus=2)
    for _ in range(100):
        pace.drained(1.0, 0.04)
    assert pace.sleep == pace.rest == 0.04
    pace.drained(1.0, 0.041)
    assert pace.sleep == pace.rest == 0.041
    pace.drained(0.0, 10.0)
    assert pace.sleep == pace.rest == MAX_REST_S


def test_a_burst_is_drained_without_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace_module, "runnable", lambda: 3)
    pace = DrainSchedule(config("cpu"), frugal=False, cpus=2)
    worked = 0.0
    while pace.rest == 0.0:
        pace.drained(1.0, 0.04)
        worked += 0.04
    assert MAX_BURST_S < worked < 2 * MAX_BURST_S
    # What it has slept since it may work once more.
    for _ in range(1000):
        pace.drained(0.0, 0.0)
    for _ in range(20):
        pace.drained(1.0, 0.04)
        assert pace.rest == 0.0


def test_while_a_processor_is_idle_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Itself and the one thread of its target."""
    monkeypatch.setattr(pace_module, "runnable", lambda: 2)
    pace = DrainSchedule(config("cpu"), frugal=False, cpus=2)
    for _ in range(100):
        pace.drained(1.0, 0.04)
    assert (pace.sleep, pace.rest) == (MIN_PAUSE_S, 0.0)
    monkeypatch.setattr(pace_module, "runnable", lambda: 3)
    pace.drained(1.0, 0.04)
    assert pace.rest == 0.04


def test_the_kernel_says_how_many_are_runnable() -> None:
    assert runnable() >= 1  # this one


def test_with_many_it_does_not() -> None:
    pace = DrainSchedule(config("cpu"), frugal=False, cpus=8)
    for _ in range(10):
        pace.drained(1.0, 0.04)
    assert pace.sleep == MIN_PAUSE_S
