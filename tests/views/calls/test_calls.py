"""Counted calls: what they weigh, whom they are between, what to do about them."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.model.calls.call_windows import (
    call_weights,
    effective_windows,
    interval,
    standard_errors,
)
from sonde.model.calls.inlining import size_threshold
from sonde.recording.tables import Recording, Sizes
from sonde.reports.calls.calls import render
from sonde.reports.layout.page import console
from sonde.views.calls.calls import calls
from sonde.views.calls.loops import Loops
from sonde.views.selecting.selection import select
from sonde.views.selecting.sources import Sources
from synthetic import MS, Maker

US = 1000
SOURCE = """\
def dense(items):
    total = 0
    for item in items:
        total += one(item)
        limit = bound(items)
        items.append(item)
        log(item)
    while total < other():
        total = step(total)
    return [one(n) for n in made(items)]

def once():
    return one(1)
"""


def made(*windows: tuple[str, int, int, int, list[str | None]], **more: Any) -> Recording:
    """Windows of (thread, ms, µs, cut, chains), with a stride of 3."""
    maker = Maker(**more)
    for thread, ms, us, cut, chains in windows:
        maker.window(chains, ms * MS, us * US, thread=thread, cut=cut)
    return maker.recording()


@pytest.fixture
def recording() -> Recording:
    return made(
        # A quarter of the time for as many calls: each stands for four times as many.
        ("main", 1, 10, 0, ["main:3 > work:5 > leaf:1", "main:3 > work:5 > leaf:1"]),
        ("worker", 2, 40, 0, ["main:4 > work:5 > leaf:1", "main:4 > other:9 > len"]),
    )


def test_windows_weigh_by_the_inverse_of_their_time(recording: Recording) -> None:
    found = calls(recording)
    assert (found.windows, found.cut, found.count) == (2, 0, 4)
    edges = {
        (e.caller.name if e.caller else "", e.site_line, e.callee.name): e for e in found.edges
    }
    leaf, length = edges["work", 5, "leaf"], edges["other", 9, "len"]
    # 2/10 + 1/40 against 1/40
    assert leaf.weight == pytest.approx(9 / 10)
    assert length.weight == pytest.approx(1 / 10)
    assert (leaf.count, length.count) == (3, 1)
    assert leaf.error > 0


def test_by_context_callers_are_told_apart(recording: Recording) -> None:
    found = calls(recording, by="context")
    assert [round(edge.weight, 4) for edge in found.edges] == [0.8, 0.1, 0.1]
    chain = found.edges[0].chain
    assert chain is not None
    assert [(frame["name"], frame["line"]) for frame in chain] == [
        ("main", 3), ("work", 5), ("leaf", 1),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="edge, context"):
        calls(recording, by="function")


def test_a_part_of_the_recording(recording: Recording) -> None:
    worker = calls(recording, select(thread="worker"))
    assert (worker.windows, worker.count) == (1, 2)
    assert [edge.weight for edge in worker.edges] == pytest.approx([0.5, 0.5])
    early = calls(recording, select(end=0.0015))
    assert (early.windows, early.count) == (1, 2)
    assert calls(recording, top=1).left == 1
    with pytest.raises(UsageError, match="span"):
        calls(recording, select(span="checkout"))


def test_calls_without_a_stack_or_a_caller_count() -> None:
    found = calls(made(("main", 1, 10, 0, [None, "main:1"])))
    assert sum(edge.weight for edge in found.edges) == pytest.approx(1)
    assert {edge.callee.name for edge in found.edges} == {"[undecodable]", "main"}
    assert all(edge.caller is None for edge in found.edges)
    assert calls(made()).edges == []


def test_a_window_that_was_cut_counts_as_no_shorter_than_full_ones() -> None:
    duration = np.array([10_000, 20_000, 50, 100_000])
    cut = np.array([False, False, True, True])
    window = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3])
    unknown = np.full(11, -1)
    weights = call_weights(duration, np.full(4, 3), cut, window, unknown)
    assert weights[0] == pytest.approx(3 * 3 / 4 / 10_000)
    assert weights[4] == pytest.approx(3 * 3 / 4 / 20_000)
    assert weights[8] == pytest.approx(3 / 50_000)  # the reach: half of the calls are in the first
    assert weights[9] == pytest.approx(3 / 100_000)


def test_a_window_of_unknown_duration_weighs_nothing() -> None:
    duration, window = np.array([10_000, 1]), np.array([0, 0, 1])
    cut = np.array([False, False])
    weights = call_weights(duration, np.array([3, 3]), cut, window, np.full(3, -1))
    assert weights.tolist() == pytest.approx([3 / 2 / 10_000, 3 / 2 / 10_000, 0])


def test_a_window_before_the_clock_was_known_outweighs_nothing() -> None:
    duration = np.array([100, 10_000, 10_000])
    window, offset = np.repeat([0, 1, 2], 4), np.repeat([-1, 5_000, 5_000], 4)
    weights = call_weights(duration, np.full(3, 3), np.zeros(3, dtype=bool), window, offset)
    assert 0 < weights[:4].max() < 0.05 * weights[4:].min()


def test_a_long_window_counts_as_far_as_short_ones_reach() -> None:
    duration = np.array([5_000, 40_000])
    window = np.array([0, 0, 1, 1])
    offset = np.array([500, 5_000, 15_000, 40_000])
    weights = call_weights(duration, np.array([3, 3]), np.array([False, False]), window, offset)
    by_window = 3 / 2 / 40_000
    assert weights[:2] == pytest.approx(3 / 2 / 5_000)
    assert weights[2] == pytest.approx(0.95 * 3 / 25_000 + 0.05 * by_window)
    assert weights[3] == pytest.approx(0.05 * by_window)


def test_dense_parts_after_sparse_ones_get_their_share() -> None:
    """Four hundred calls a microsecond apart, then ten a thousand apart, over and over."""
    gaps = np.tile(np.concatenate([np.full(400, 1_000), np.full(10, 1_000_000)]), 40)
    times = np.cumsum(gaps)
    is_dense = gaps == 1_000
    is_first = np.arange(len(gaps)) % 410 < 40
    draw = np.random.default_rng(2)
    opened = np.sort(draw.integers(0, times[-200], 4000))
    duration, window, offset, kind = [], [], [], []
    for number, at in enumerate(opened):
        first = int(np.searchsorted(times, at)) + int(draw.integers(3))
        rows = np.arange(first, first + 20 * 3, 3)
        duration.append(times[rows[-1]] - at)
        window += [number] * len(rows)
        offset += (times[rows] - at).tolist()
        kind += np.where(is_first[rows], 2, is_dense[rows]).tolist()
    args = np.array(duration), np.full(4000, 3), np.zeros(4000, dtype=bool), np.array(window)
    shares = {}
    for known, where in ((True, np.array(offset)), (False, np.full(len(offset), -1))):
        weights = call_weights(*args, where)
        shares[known] = np.bincount(np.array(kind), weights) / weights.sum()
    # By duration alone the first dense calls, which many sparse windows meet, have more.
    true = np.array([10, 360, 40]) / 410
    assert shares[False][2] > 2 * true[2]
    assert abs(shares[True] - true).max() < 0.9 * abs(shares[False] - true).max()


def test_the_error_is_that_of_windows_not_of_calls() -> None:
    """Calls that come in bunches are known less well than as many that do not."""
    draw = np.random.default_rng(1)
    errors = {}
    for bunch in (1, 10):
        kinds = np.repeat(draw.random(4000 // bunch) < 0.2, bunch)
        window = np.repeat(np.arange(400), 10)
        error = standard_errors(kinds.astype(np.int64), 2, window, 400, np.ones(4000))
        errors[bunch] = float(error[1])
    assert errors[1] == pytest.approx((0.2 * 0.8 / 4000) ** 0.5, rel=0.15)
    assert errors[10] == pytest.approx((0.2 * 0.8 / 400) ** 0.5, rel=0.15)


def test_an_interval_of_one_window_spans_decades() -> None:
    low, high = interval(0.03, 0.03, 200.0)
    assert 0 < low < 0.006
    assert high > 0.12
    # Windows that agree say little while they are few.
    low, high = interval(0.5, 0.0, 3.0)
    assert low < 0.15
    assert high > 0.85
    low, high = interval(1.0, 0.0, 4.0)
    assert low == pytest.approx(4 / (4 + 1.96**2))
    assert high == 1
    assert interval(0.2, 0.1, 0.0) == (0.0, 1.0)


def test_intervals_of_few_bunched_windows_hold_the_truth() -> None:
    """An edge of a twentieth of the calls, in few windows that have it wholly or not at all."""
    draw = np.random.default_rng(7)
    for windows in (20, 60, 400):
        held = 0
        for _ in range(400):
            kinds = np.repeat(draw.random(windows) < 0.05, 8).astype(np.int64)
            window = np.repeat(np.arange(windows), 8)
            weight = np.repeat(draw.lognormal(0, 0.3, windows), 8)
            share = float(weight[kinds == 1].sum() / weight.sum())
            error = float(standard_errors(kinds, 2, window, windows, weight)[1])
            effective = effective_windows(window, windows, weight)
            low, high = interval(share, error, effective)
            held += low <= 0.05 <= high
        # Of 400, 360 would be 9 in 10.
        assert held >= 360, windows


# ---- advice


def test_hot_sites_with_their_targets() -> None:
    chains: list[str | None] = ["main:3 > a:1"] * 6 + ["main:3 > b:1"] * 3 + ["main:3 > c:1"]
    chains += ["main:8 > d:1"] * 10
    recording = made(("main", 1, 10, 0, chains))
    sized = {"a": 40, "d": 5000}
    numbers = [recording.functions.name.index(name) for name in sized]
    recording = replace(
        recording,
        sizes=Sizes(np.array(numbers, np.int32), np.array(list(sized.values()), np.uint32)),
    )
    advice = calls(recording).advice
    several, single = sorted(advice.sites, key=lambda site: site.line)
    assert (several.shape, single.shape) == ("dominated", "single")
    assert [round(t.share, 2) for t in several.targets] == [0.6, 0.3, 0.1]
    assert [t.candidate for t in several.targets] == [True, False, False]
    assert not single.targets[0].candidate  # too large, however hot
    told = calls(recording).to_json()["advice"]["sites"]
    assert told[0]["targets"][0].keys() >= {"callee", "share", "size", "threshold", "candidate"}


def test_two_calls_on_one_line_are_two_sites() -> None:
    recording = made(("main", 1, 10, 0, ["main:3 > a:1", "main:3 > b:1", "main:3 > a:1"]))
    assert len(calls(recording).advice.sites) == 1
    recording = replace(
        recording, calls=replace(recording.calls, site=np.array([7, 9, 7], np.uint32))
    )
    found = calls(recording)
    assert [site.shape for site in found.advice.sites] == ["single", "single"]
    assert len(found.edges) == 2


def test_the_hotter_a_site_the_larger_a_callee_may_be() -> None:
    small, middle, large = (size_threshold(weight) for weight in (0.001, 0.01, 0.02))
    assert large - middle == pytest.approx((middle - small) * 10 / 9, abs=2)
    assert size_threshold(0.9) == size_threshold(1.0)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "app.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "callee", "in_loop", "invariant"),
    [
        (4, "one", True, False),
        (5, "bound", True, False),  # items.append changes items
        (6, "list.append", True, False),
        (7, "log", True, False),  # for its effect
        (8, "other", True, True),
        (9, "step", True, False),
        (10, "one", True, False),
        (10, "made", False, False),  # made once
        (13, "one", False, False),
    ],
)
def test_calls_in_loops(
    source: str, line: int, callee: str, in_loop: bool, invariant: bool
) -> None:
    call = Loops(Sources(None)).call(source, line, callee)
    assert call == (in_loop, invariant)


def test_no_source_no_claim(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def (:\n")
    loops = Loops(Sources(None))
    assert loops.call(str(tmp_path / "bad.py"), 1, "x") is None
    assert loops.call(str(tmp_path / "missing.py"), 1, "x") is None


def test_how_often_is_left_out_where_few_calls_tell_it(source: str) -> None:
    chains: list[str | None] = ["main:1 > dense:1", *["main:1 > dense:4 > one:1"] * 10]
    found = calls(made(("main", 1, 10, 0, chains))).advice.loops
    (loop,) = (loop for loop in found if loop.callee.name == "one")
    assert (loop.per_entry, loop.per_entry_interval) == (None, None)
    assert "times" not in loop.said.partition(":")[0]


def test_loops_are_told_with_a_remedy(source: str) -> None:
    maker_chains: list[str | None] = ["main:1 > dense:1"]
    maker_chains += ["main:1 > dense:4 > one:1"] * 10 + ["main:1 > dense:8 > other:1"] * 10
    recording = made(*[("main", at, 10, 0, maker_chains) for at in range(1, 101)])
    files = [source if n == "dense" else f for n, f in zip(
        recording.functions.name, recording.functions.file, strict=True)]  # fmt: skip
    recording = replace(recording, functions=replace(recording.functions, file=files))
    loops = {call.callee.name: call for call in calls(recording).advice.loops}
    assert loops["one"].remedy == "batch"
    assert loops["one"].per_entry == pytest.approx(10)
    assert loops["one"].per_entry_interval is not None
    low, high = loops["one"].per_entry_interval
    # A hundred calls of `dense` were counted.
    assert 10 * math.exp(-0.25) < low < 10 * math.exp(-0.2)
    assert low * high == pytest.approx(100)
    assert f"{low:.0f} to {high:.0f} times per call of dense" in loops["one"].said
    assert loops["other"].remedy == "hoist"
    out = io.StringIO()
    render(calls(recording), console(out))
    assert "hoist the call of other" in " ".join(out.getvalue().split())
    assert "Calls in loops" in out.getvalue()


def test_a_single_edge_has_an_interval() -> None:
    low, high = interval(1.0, 1.7e-9, 180.0)
    assert 0.9 < low < high == 1.0
