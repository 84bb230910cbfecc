"""Calls of C functions are seen in few windows; what they weigh comes from the others as well."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.model.calls.call_kinds import Counted, Windows, ticks_of, weights_of_kinds

Row = tuple[int, int, bool]
"""Caller, callee, and whether that is a C function."""


def weighed(
    windows: list[tuple[int, bool, list[Row]]],
    ticks: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], Counted]:
    """Weights of windows that last so long, of which some show all calls."""
    rows = [(number, *row) for number, (_, _, calls) in enumerate(windows) for row in calls]
    window, caller, callee, native = (np.array(column) for column in zip(*rows, strict=True))
    counted = Counted(window, np.full(len(rows), -1), caller, callee, native.astype(bool))
    made = Windows(
        duration=np.array([duration for duration, _, _ in windows]),
        stride=np.full(len(windows), 3),
        cut=np.zeros(len(windows), dtype=bool),
        all_seen=np.array([all_seen for _, all_seen, _ in windows]),
        ticks=np.ones(len(windows)) if ticks is None else ticks,
    )
    return weights_of_kinds(made, counted), counted


F, G, H, LEN, CHR = 1, 2, 3, 10, 11


def test_c_functions_are_told_by_the_windows_that_show_them() -> None:
    """One window in five shows all, and the program is slower in it: for each Python function that
    is called there is one C function, which the others do not see."""
    shown = (15_000, True, [(F, G, False), (F, LEN, True)] * 5)
    weights, counted = weighed(([shown] + [(10_000, False, [(F, G, False)] * 10)] * 4) * 80)
    of_c, of_python = weights[counted.native].sum(), weights[~counted.native].sum()
    assert of_c == pytest.approx(of_python)
    # How long the windows took that show all says nothing of Python functions.
    in_all = counted.window % 5 == 0
    assert weights[~counted.native & in_all].sum() == pytest.approx(0.05 * of_python)


def test_where_python_functions_are_rarely_called_windows_are_compared_by_number() -> None:
    shown = (10_000, True, [(F, LEN, True)] * 3)
    weights, _ = weighed([shown, (10_000, False, [(G, H, False)]), *[(10_000, False, [])] * 2])
    assert weights[:3] == pytest.approx(3 * 3 * 2 / 3 / 10_000)


def test_no_window_outweighs_the_others_for_having_been_short() -> None:
    """How long a window took that shows all calls is not known well."""
    usual = [(F, G, False), (F, LEN, True), (F, CHR, True)] * 4
    short = [(F, G, False), *[(F, LEN, True)] * 11]
    shown = [(200_000, True, usual)] * 40 + [(1_000, True, short)]
    weights, counted = weighed(shown + [(10_000, False, [(F, G, False)] * 12)] * 400)
    share = {callee: weights[counted.callee == callee].sum() for callee in (G, LEN, CHR)}
    total = weights.sum()
    assert share[G] / total == pytest.approx(1 / 3, abs=0.03)
    assert share[LEN] / total == pytest.approx(1 / 3, abs=0.03)


def test_each_caller_has_a_factor_of_its_own() -> None:
    """Windows that show all calls happened to meet one of two callers too often."""
    by_f = [(F, G, False), *[(F, LEN, True)] * 4] * 3
    by_h = [(H, G, False), (H, CHR, True)] * 7
    shown = [(50_000, True, by_f)] * 30 + [(50_000, True, by_h)] * 10
    unseen = [(F, G, False)] * 5 + [(H, G, False)] * 10
    weights, counted = weighed(shown + [(10_000, False, unseen)] * 400)
    once = weights[(counted.caller == F) & ~counted.native].sum()
    # Both are drawn a little to the factor of all.
    assert weights[counted.callee == LEN].sum() / once == pytest.approx(4, rel=0.1)
    assert weights[counted.callee == CHR].sum() / once == pytest.approx(2, rel=0.1)


def test_a_function_that_calls_c_functions_only_is_known_by_being_called() -> None:
    by_leaf = [(F, H, False), (H, LEN, True), (H, LEN, True)] * 4
    shown = [(50_000, True, by_leaf)] * 5 + [(50_000, True, [(F, G, False)] * 12)] * 35
    unseen = [(F, H, False)] * 6 + [(F, G, False)] * 6
    weights, counted = weighed(shown + [(10_000, False, unseen)] * 400)
    called = weights[counted.callee == H].sum()
    assert weights[counted.callee == LEN].sum() / called == pytest.approx(2, rel=0.15)
    assert weights[counted.callee == G].sum() / called == pytest.approx(1, rel=0.15)


def test_what_no_caller_is_known_of_counts() -> None:
    shown = (10_000, True, [(-1, LEN, True), (-1, -1, False)])
    weights, _ = weighed([shown, (10_000, False, [(-1, G, False)])] * 100)
    assert np.isfinite(weights).all()
    assert (weights > 0).all()


def test_windows_of_unknown_duration_weigh_nothing() -> None:
    shown = [(1, True, [(F, LEN, True), (F, G, False)])] * 3 + [(10_000, True, [(H, CHR, True)])]
    weights, counted = weighed(shown + [(10_000, False, [(F, G, False)] * 9)] * 1000)
    assert np.isfinite(weights).all()
    assert weights[counted.callee == LEN].sum() == 0
    assert weights[counted.callee == CHR].sum() > 0


def test_a_window_stands_for_the_ticks_to_the_next_of_its_kind() -> None:
    number = np.arange(400)
    all_seen = np.where(number < 32, number % 2 == 0, number % 64 == 0)
    ticks = ticks_of(np.zeros(400, dtype=int), number * 10, all_seen)
    assert set(ticks[:31]) == {2.0}
    assert ticks[[64, 128, 320]].tolist() == [34.0, 64.0, 64.0]
    assert set(ticks[31:64]) == {1.0}
    # Those of another thread, and in another order, are nothing to it.
    thread, time = np.repeat([0, 1], 400), np.tile(number * 10, 2)
    mixed = np.random.default_rng(1).permutation(800)
    both = ticks_of(thread[mixed], time[mixed], np.tile(all_seen, 2)[mixed])
    assert both.tolist() == np.tile(ticks, 2)[mixed].tolist()


def test_c_functions_of_a_start_up_weigh_no_more_than_later_ones() -> None:
    """Every other one of the first windows shows all calls."""
    number = np.arange(992)
    all_seen = np.where(number < 32, number % 2 == 0, number % 64 == 0)
    windows: list[tuple[int, bool, list[Row]]] = []
    for n, shows_all in enumerate(all_seen.tolist()):
        # Many callers in one place each, as modules have that are imported.
        caller = 100 + n // 2 if n < 32 else F
        python = [(caller, H if n < 32 else G, False)]
        windows.append((10_000, shows_all, (python + [(caller, LEN, True)] * shows_all) * 8))
    ticks = ticks_of(np.zeros(992, dtype=int), number, all_seen)
    weights, counted = weighed(windows, ticks)
    early = counted.window < 32
    # They are 32 of 992 windows, which all have as many calls.
    for native in (False, True):
        mine = counted.native == native
        share = weights[mine & early].sum() / weights[mine].sum()
        assert share == pytest.approx(32 / 992, rel=0.35), native
