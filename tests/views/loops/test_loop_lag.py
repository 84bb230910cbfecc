"""How late loops were, by time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sonde.recording.tables import Recording
from sonde.recording.task_tables import LoopLags, LoopTimes
from sonde.views.loops import loop_lag
from sonde.views.loops.loop_lag import LagPoint, loops_of
from sonde.views.selecting.selection import Selection
from synthetic import Maker

MS = 1_000_000


def recording(rows: list[tuple[int, int, int, int, int]]) -> Recording:
    """Rows of the table: thread, time, steps, ready_ns, max_ns."""
    make = Maker()
    for name in ("first", "second"):
        make.thread(name)

    def column(i: int, dtype: Any) -> Any:
        return np.array([row[i] for row in rows], dtype=dtype)

    times = LoopTimes(
        thread=column(0, np.uint32),
        time=column(1, np.int64),
        runtime=["asyncio"] * len(rows),
        steps=column(2, np.uint32),
        ready_ns=column(3, np.int64),
        max_ns=column(4, np.int64),
    )
    lags = LoopLags(
        thread=column(0, np.uint32),
        time=column(1, np.int64),
        below_ns=column(4, np.int64) + 1,
        count=column(2, np.uint32),
    )
    return replace(make.recording(), loop_times=times, loop_lags=lags)


def test_each_row_is_about_the_time_since_the_row_before_of_its_thread() -> None:
    found = loops_of(
        recording(
            [
                (0, 100 * MS, 4, 40 * MS, 30 * MS),
                (1, 150 * MS, 1, 1 * MS, 1 * MS),
                (0, 250 * MS, 5, 10 * MS, 3 * MS),
            ]
        ),
        Selection(),
    )
    assert [loop.thread for loop in found] == ["first", "second"]
    assert found[0].series == [
        LagPoint(0, 100 * MS, 4, 10 * MS, 30 * MS),
        LagPoint(100 * MS, 250 * MS, 5, 2 * MS, 3 * MS),
    ]
    assert found[0].lag.mean == 50 * MS // 9
    assert found[1].series == [LagPoint(0, 150 * MS, 1, 1 * MS, 1 * MS)]
    assert found[1].to_json()["lag"] == [
        {"start_ns": 0, "end_ns": 150 * MS, "steps": 1, "mean_ns": 1 * MS, "max_ns": 1 * MS}
    ]


def test_a_part_of_the_time_begins_where_the_row_before_it_ended() -> None:
    rows = [(0, second * 100 * MS, 1, second * MS, second * MS) for second in range(1, 6)]
    (loop,) = loops_of(recording(rows), Selection(start_ns=250 * MS))
    assert [(point.start_ns, point.mean_ns) for point in loop.series] == [
        (200 * MS, 3 * MS), (300 * MS, 4 * MS), (400 * MS, 5 * MS),
    ]  # fmt: skip


def test_a_long_series_is_added_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(loop_lag, "MAX_POINTS", 2)
    rows = [(0, second * 100 * MS, 1, second * MS, second * MS) for second in range(1, 6)]
    (loop,) = loops_of(recording(rows), Selection())
    assert loop.series == [
        LagPoint(0, 300 * MS, 3, 2 * MS, 3 * MS),
        LagPoint(300 * MS, 500 * MS, 2, 9 * MS // 2, 5 * MS),
    ]
