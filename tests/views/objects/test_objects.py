"""Objects that were seen, and what they stand for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.recording.tables import Objects as Table
from sonde.recording.tables import Recording, Types
from sonde.views.objects.objects import objects
from sonde.views.selecting.selection import select
from synthetic import MS, Maker

EVERY = 1000
SEEN = [
    # thread, ms, chain, type, size
    ("main", 1, "main:1 > work:5", 0, 100),
    ("main", 2, "main:1 > work:5", 0, 100),
    ("main", 3, "main:2 > work:5", 0, 100),
    ("worker", 4, "main:2 > work:6", 1, 50_000),
    ("worker", 5, None, -1, 100),
]


@pytest.fixture
def recording() -> Recording:
    made = Maker()
    rows = [
        (made.thread(thread), time * MS, made.context(chain), type_, size, EVERY)
        for thread, time, chain, type_, size in SEEN
    ]
    columns = np.array(rows, dtype=np.int64).T
    table = Table(
        columns[0].astype(np.uint32), columns[1], columns[2].astype(np.int32),
        columns[3].astype(np.int32), columns[4], columns[5],
    )  # fmt: skip
    types = Types(["app.Small", "byte[]"], ["hotspot", "hotspot"])
    return replace(made.recording(), objects=table, types=types)


def test_each_stands_for_as_many_as_it_takes(recording: Recording) -> None:
    found = objects(recording)
    small = next(row for row in found.rows if row.type == "app.Small")
    stands_for = 1 / (1 - math.exp(-100 / EVERY))
    assert (small.count, small.bytes) == (3, 300)
    assert small.estimated_count == round(3 * stands_for)
    assert small.estimated_bytes == round(300 * stands_for)
    large = found.rows[0]
    assert (large.type, large.estimated_count, large.estimated_bytes) == ("byte[]", 1, 50_000)
    assert {row.type for row in found.rows} == {"app.Small", "byte[]", "(unknown)"}


@pytest.mark.parametrize(("by", "rows"), [("class", 3), ("site", 3), ("context", 4)])
def test_rows_add_up(recording: Recording, by: str, rows: int) -> None:
    found = objects(recording, by=by)
    assert len(found.rows) == rows
    assert sum(row.count for row in found.rows) == found.count == len(SEEN)
    assert sum(row.bytes for row in found.rows) == found.bytes
    assert sum(row.estimated_bytes for row in found.rows) == pytest.approx(
        found.estimated_bytes, abs=rows
    )


def test_a_site_is_one_whoever_calls_it(recording: Recording) -> None:
    rows = objects(recording, by="site").rows
    small = [row for row in rows if row.type == "app.Small"]
    assert len(small) == 1
    assert small[0].site is not None
    assert (small[0].site[0].name, small[0].site[1]) == ("work", 5)
    assert next(row for row in rows if row.type == "(unknown)").site is None


def test_a_part_of_the_recording(recording: Recording) -> None:
    assert objects(recording, select(thread="worker")).count == 2
    assert objects(recording, select(start=0.002, end=0.004)).count == 2


def test_no_such_aspect(recording: Recording) -> None:
    with pytest.raises(UsageError, match="class, type, site, context"):
        objects(recording, by="size")
