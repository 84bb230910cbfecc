"""Counted calls of two recordings compared, against figures done by hand."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from sonde.recording.tables import Calls, Recording, Windows
from sonde.reports.calls.call_diff import render
from sonde.reports.layout.page import console
from sonde.views.calls.call_diff import CallDiff, call_diff
from synthetic import APP, MS, Maker

US = 1000


def made(calls: dict[str, int], **lines: int) -> Recording:
    """One window of so many calls of each chain."""
    maker = Maker()
    for name, line in lines.items():
        maker.define(name, APP, line)
    contexts = [maker.context(chain) for chain, number in calls.items() for _ in range(number)]
    count = len(contexts)
    window = [maker.thread("main"), MS, 10 * US, 3, 0]
    one = np.array([window], dtype=np.int64) if count else np.zeros((0, 5), dtype=np.int64)
    return replace(
        maker.recording(),
        windows=Windows(
            one[:, 0].astype(np.uint32), one[:, 1], one[:, 2], one[:, 3].astype(np.uint32),
            one[:, 4].astype(np.uint8), np.ones(len(one), np.uint8),
        ),
        calls=Calls(
            np.zeros(count, np.int32), np.array(contexts, dtype=np.int32),
            np.zeros(count, np.uint32), np.full(count, -1), np.zeros(count, np.uint8),
        ),
    )  # fmt: skip


def rows(found: CallDiff) -> list[tuple[str, int, str, float, float]]:
    return [
        (
            row.caller.name if row.caller else "",
            row.site_line,
            row.callee.name,
            round(row.base, 6),
            round(row.new, 6),
        )
        for row in found.rows
    ]


def test_shares_the_greatest_change_first() -> None:
    base = made({"main:3 > work:5": 6, "main:4 > other:2": 3, "main:4 > len": 1})
    new = made({"main:3 > work:5": 4, "main:4 > len": 1, "main:9 > late:7": 15})
    found = call_diff(base, new)
    assert rows(found) == [
        ("main", 9, "late", 0, 0.75),
        ("main", 3, "work", 0.6, 0.2),
        ("main", 4, "other", 0.3, 0),
        ("main", 4, "len", 0.1, 0.05),
    ]
    assert found.alike.overlap == pytest.approx(0.2 + 0.05)
    # Hot before: work, other, len; hot now: late and work. len is below a tenth of the hottest.
    assert found.alike.base_by_new == pytest.approx(1 / 3)
    assert found.alike.new_by_base == pytest.approx(1 / 2)
    one = np.array([0, 0.6, 0.3, 0.1]) - 0.25
    other = np.array([0.75, 0.2, 0, 0.05]) - 0.25
    by_hand = (one * other).sum() / ((one**2).sum() * (other**2).sum()) ** 0.5
    assert found.alike.correlation == pytest.approx(by_hand)
    assert call_diff(base, base).alike.overlap == pytest.approx(1)
    assert call_diff(base, base).alike.correlation == pytest.approx(1)


def test_a_function_that_moved_keeps_its_calls() -> None:
    base = made({"main:12 > work:51": 2}, main=10, work=50)
    new = made({"main:22 > work:61": 5}, main=20, work=60)
    found = call_diff(base, new)
    assert rows(found) == [("main", 22, "work", 1, 1)]
    assert found.alike.overlap == 1
    # The same two functions, but from another line of the caller.
    assert call_diff(base, made({"main:14 > work:51": 2}, main=10, work=50)).alike.overlap == 0


def test_json_and_words() -> None:
    base, new = made({"main:3 > work:5": 3, "main:4 > len": 1}), made({"main:3 > work:5": 1})
    told = call_diff(base, new).to_json()
    assert set(told) == {"overlap", "hot_edge_coverage", "correlation", "rows"}
    assert [row["delta"] for row in told["rows"]] == pytest.approx([-0.25, 0.25])
    assert set(told["rows"][0]) == {
        "caller", "site_line", "callee", "base", "new", "delta", "error",
    }  # fmt: skip
    out = io.StringIO()
    render(call_diff(base, new), console(out, width=80))
    text = out.getvalue()
    assert "4 calls counted before, 1 now" in text
    assert "The calls overlap by 75.0 %" in text
    assert "+25.0 %" in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_counted() -> None:
    found = call_diff(made({}), made({}))
    assert (found.alike.overlap, found.alike.correlation, found.rows) == (None, None, [])
    out = io.StringIO()
    render(found, console(out, width=80))
    assert out.getvalue() == "No calls were counted in either recording.\n"
    half = call_diff(made({}), made({"main:3 > work:5": 1}))
    assert half.alike.overlap is None
