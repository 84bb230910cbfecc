"""Figures as people say them."""

from __future__ import annotations

import pytest

from sonde.views.selecting.formatting import brief, count, duration, percent


@pytest.mark.parametrize(
    ("ns", "words"),
    [
        (0, "0 s"),
        (1, "1 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_340, "12.3 µs"),
        (999_400, "999 µs"),
        (999_700, "1.00 ms"),
        (450_000_000, "450 ms"),
        (9_996_000_000, "10.0 s"),
        (99_960_000_000, "100 s"),
        (125_000_000_000, "2 min 5 s"),
        (12_000_000_000_000, "3 h 20 min"),
        (-1_500_000, "-1.50 ms"),
    ],
)
def test_duration(ns: int, words: str) -> None:
    assert duration(ns) == words


def test_percent() -> None:
    assert percent(0.423) == "42 %"
    assert percent(1) == "100 %"
    assert percent(0) == "0 %"
    assert percent(0.004) == "< 1 %"
    assert percent(0.0123, 1) == "1.2 %"
    assert percent(0.0001, 1) == "< 0.1 %"


def test_count() -> None:
    assert count(1, "sample") == "1 sample"
    assert count(12_000, "sample") == "12,000 samples"
    assert count(2, "process", "processes") == "2 processes"


def test_brief() -> None:
    assert brief(12_300_000) == "12.3 ms"
    assert brief(125_000_000_000) == "2 min"
    assert brief(4877_000_000_000) == "81 min"
    assert brief(90_000 * 10**9) == "25 h"
    assert all(len(brief(10**n)) <= 8 for n in range(18))
