"""What is alive when, by class and site."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from allocations import Allocation, recording_of
from sonde.errors import UsageError
from sonde.recording.tables import Recording
from sonde.views.objects.memory_samples import memory_samples
from sonde.views.objects.objects import objects
from sonde.views.selecting.profile import profile
from sonde.views.selecting.selection import ALIVE, ALLOCATED, Selection, select
from synthetic import MS, Maker

LARGE = 10_000
"""Ten times the distance between samples: each of them is sampled, and stands for itself."""
KEPT, CACHED, DROPPED = "main:1 > keep:5", "main:2 > fill:6", "main:3 > drop:7"


@pytest.fixture
def recording() -> Recording:
    return recording_of(
        [
            Allocation(-50, KEPT, size=LARGE),
            Allocation(100, KEPT, size=LARGE),
            Allocation(200, CACHED, "Page", size=LARGE, freed=600),
            Allocation(300, CACHED, "Page", size=LARGE, freed=600),
            Allocation(400, DROPPED, "Page", size=LARGE, freed=401),
            Allocation(700, KEPT, size=LARGE),
        ]
    )


def test_what_is_alive_in_the_end(recording: Recording) -> None:
    found = objects(recording, by="site")
    rows = {row.site[0].name: row for row in found.rows if row.site}
    assert {name: row.count for name, row in rows.items()} == {"keep": 2, "fill": 2, "drop": 1}
    alive = {name: row.survival.live_count for name, row in rows.items() if row.survival}
    # Also what was alive when the recording began.
    assert alive == {"keep": 3, "fill": 0, "drop": 0}
    assert found.survival is not None
    assert found.survival.live_bytes == sum(
        row.survival.live_bytes for row in found.rows if row.survival
    )
    assert rows["fill"].survival is not None
    assert rows["fill"].survival.lifetime == [(1 << 29, 2)]
    assert rows["fill"].survival.high_water_ns == 300 * MS


def test_a_moment_and_the_high_water_mark(recording: Recording) -> None:
    at = objects(recording, at_ns=250 * MS)
    assert (at.count, at.of) == (3, "alive")
    peak = objects(recording, at_high_water=True)
    assert peak.at_ns == 400 * MS
    assert peak.count == 5
    assert peak.survival is not None
    whole = objects(recording).survival
    assert whole is not None
    assert (whole.high_water_bytes, whole.high_water_ns) == (peak.estimated_bytes, 400 * MS)
    later = objects(recording, select(start=0.5), at_high_water=True)
    assert later.at_ns == 500 * MS


def test_growth_is_what_came_less_what_went(recording: Recording) -> None:
    found = objects(recording, select(start=0.25, end=0.65), by="site", growth=True)
    grown = {row.site[0].name: row.estimated_count for row in found.rows if row.site}
    assert grown == {"fill": -1}  # of two one was allocated in between, and both freed
    whole = objects(recording, growth=True, by="site")
    assert [row.estimated_count for row in whole.rows] == [2]
    before = objects(recording, at_ns=250 * MS).estimated_bytes
    after = objects(recording, at_ns=650 * MS).estimated_bytes
    assert found.estimated_bytes == after - before


def test_the_timeline_agrees_with_moments(recording: Recording) -> None:
    for time, alive in objects(recording).timeline[::10]:
        assert alive == objects(recording, at_ns=time).estimated_bytes


def test_nothing_is_alive_after_the_end_of_its_process(recording: Recording) -> None:
    ended = replace(recording.processes[0], end_ns=800 * MS)
    recording = replace(recording, processes=[ended])
    assert objects(recording, at_ns=750 * MS).count == 3
    assert objects(recording, at_ns=900 * MS).count == 0
    alive = objects(recording).survival
    assert alive is not None
    assert alive.live_count == 3  # as it was when the process ended


def test_estimates_have_margins_that_hold() -> None:
    """Of many recordings of one truth, about 95 in 100 contain it."""
    chance = np.random.default_rng(1)
    every, size, true = 1000, 200, 20_000
    probability = 1 - np.exp(-size / every)
    inside = 0
    for _ in range(60):
        sampled = int(chance.binomial(true, probability))
        found = objects(recording_of([Allocation(1, KEPT, size=size)] * sampled, every=every))
        inside += abs(found.estimated_bytes - true * size) <= found.margin_bytes
    assert 52 <= inside <= 59


def test_without_survival_nothing_is_said_about_it() -> None:
    recording = recording_of([Allocation(1, KEPT)], followed=False)
    found = objects(recording)
    assert found.survival is None
    assert found.to_json()["live_bytes"] is None
    assert found.rows[0].to_json()["lifetime"] is None
    for asked in ({"at_ns": 1}, {"at_high_water": True}, {"growth": True}):
        with pytest.raises(UsageError, match="followed"):
            objects(recording, **asked)  # type: ignore[arg-type]


def test_kinds_and_hidden_allocations() -> None:
    made = Maker()
    recording = recording_of(
        [Allocation(1, KEPT, "list"), Allocation(2, KEPT, "numpy.so", kind=1)], made=made
    )
    facts = replace(recording.processes[0], undercounted=["list"])
    found = objects(replace(recording, processes=[facts]))
    by_type = {row.type: row for row in found.rows}
    assert (by_type["list"].at_least, by_type["list"].kind) == (True, "object")
    assert (by_type["numpy.so"].at_least, by_type["numpy.so"].kind) == (False, "native")


@pytest.mark.parametrize("memory", [ALLOCATED, ALIVE])
def test_bytes_in_place_of_time(recording: Recording, memory: str) -> None:
    selection = Selection(memory=memory)
    found = profile(memory_samples(recording, selection), selection)
    assert found.unit == "bytes"
    whole = objects(recording)
    assert whole.survival is not None
    expected = whole.estimated_bytes if memory == ALLOCATED else whole.survival.live_bytes
    assert found.total == pytest.approx(expected, abs=len(recording.objects))
