"""Which functions grew, of synthetic runs whose shares are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sonde.errors import SondeError
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.growth import Growth, growth
from synthetic import MS, Maker

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

Shares = dict[str, int]


def run(shares: Shares, lines: dict[str, int] | None = None) -> Recording:
    """So many samples of each stack, a millisecond each."""
    make = Maker()
    for name, line in (lines or {}).items():
        make.define(name, "/app/app.py", line)
    for chain, samples in shares.items():
        for _ in range(samples):
            make.sample(chain, MS)
    return make.recording()


def compared(base: list[Recording], new: list[Recording], limit: float = 0.05) -> Growth:
    everything = Selection()
    return growth([(one, everything) for one in base], [(one, everything) for one in new], limit)


def outcomes(found: Growth) -> dict[tuple[str, str], str]:
    return {(row.function.name, row.measure): row.outcome for row in found.rows}


BASE = {"main:3 > parse:5": 200, "main:4 > send:8 > write:2": 300, "main:5": 500}
SLOWER = {"main:3 > parse:5": 400, "main:4 > send:8 > write:2": 200, "main:5": 400}


def test_a_function_that_grew() -> None:
    found = compared([run(BASE)], [run(SLOWER)])
    assert [(row.function.name, row.measure) for row in found.grew] == [
        ("parse", "self"),
        ("parse", "total"),
    ]
    row = found.grew[0]
    assert (row.verdict.base.mean, row.verdict.new.mean) == (0.2, 0.4)
    assert (row.base_samples, row.new_samples) == (200, 400)
    assert row.interval is not None
    # 0.3 in both together, of 1,000 samples each: 1.96 * sqrt(2 * 0.3 * 0.7 / 1000).
    assert row.interval == pytest.approx((0.2 - 0.040168, 0.2 + 0.040168), abs=1e-5)
    assert (found.base_samples, found.new_samples, found.compares_runs) == (1000, 1000, False)
    assert not found.undecided


def test_a_caller_grows_in_total_time_only() -> None:
    after = {"main:3 > parse:5": 200, "main:4 > send:8 > write:2": 500, "main:5": 300}
    found = compared([run(BASE)], [run(after)])
    told = {key for key, outcome in outcomes(found).items() if outcome == "grew"}
    assert told == {("send", "total"), ("write", "self"), ("write", "total")}


def test_what_grew_less_than_the_limit_is_within_it() -> None:
    found = compared([run(BASE)], [run(SLOWER)], limit=0.25)
    assert set(outcomes(found).values()) == {"within"}
    assert found.not_excluded == 0
    # The interval of parse reaches 24 points.
    assert compared([run(BASE)], [run(SLOWER)], limit=0.23).not_excluded == 1


def test_too_few_samples_to_decide() -> None:
    base = {chain: count // 10 for chain, count in BASE.items()}
    new = {"main:3 > parse:5": 30, "main:4 > send:8 > write:2": 30, "main:5": 40}
    found = compared([run(base)], [run(new)])
    assert not found.grew
    assert {row.function.name for row in found.undecided} == {"parse"}
    # 50 of 200 samples are too few to be tested at all.
    assert found.undecided[0].interval is None


def test_several_runs_count_how_much_they_differ() -> None:
    """One run's counts would decide; four runs that differ as much say that it may be chance."""

    def side(parse: list[int]) -> list[Recording]:
        return [run({"main:3 > parse:5": n, "main:5": 1000 - n}) for n in parse]

    noisy = compared(side([100, 300, 120, 280]), side([150, 420, 200, 430]))
    assert noisy.compares_runs
    assert {row.function.name for row in noisy.undecided} == {"parse"}
    steady = compared(side([200, 202, 199, 199]), side([300, 302, 299, 299]))
    assert {row.function.name for row in steady.grew} == {"parse"}
    single = compared(side([200]), side([300]))
    assert {row.function.name for row in single.grew} == {"parse"}


def test_functions_are_the_same_when_their_lines_move() -> None:
    base = [run(BASE, {"parse": 5}), run(BASE, {"parse": 7})]
    new = [run(BASE, {"parse": 9}), run(BASE, {"parse": 11})]
    found = compared(base, new, limit=0.0)
    assert all(row.delta == 0 for row in found.rows)
    (row,) = [r for r in found.rows if (r.function.name, r.measure) == ("parse", "self")]
    assert (row.base_samples, row.new_samples, row.function.line) == (400, 400, 11)


def test_a_run_in_which_a_function_is_missing_has_a_share_of_none() -> None:
    base = [run({"main:5": 1000}), run({"main:5": 1000})]
    new = [run({"main:5": 900, "fresh:2": 100}), run({"main:5": 880, "fresh:2": 120})]
    found = compared(base, new)
    assert outcomes(found)["fresh", "self"] == "grew"
    assert found.rows[0].verdict.base.mean == 0


def test_how_often_equal_runs_fail() -> None:
    """Nothing changed: one in twenty comparisons may find something, and it must exceed a limit."""
    random = np.random.default_rng(3)
    shares = np.array([0.05, 0.1, 0.15, 0.3, 0.4])

    def sampled() -> Recording:
        counts = random.multinomial(600, shares)
        return run({f"f{i}:1": int(count) for i, count in enumerate(counts)})

    failed = 0
    for number in range(40):
        runs = 1 if number % 2 else 3
        base, new = ([sampled() for _ in range(runs)] for _ in range(2))
        failed += bool(compared(base, new, limit=0.0).grew)
    # At most 2 are expected, with a standard error of 1.4.
    assert failed <= 6


def test_a_recording_without_samples_is_a_failure() -> None:
    with pytest.raises(SondeError, match=r"app\.sonde has no on-CPU samples to compare"):
        compared([run(BASE)], [run({})])
