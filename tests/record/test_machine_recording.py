"""Ticks of a whole machine, written as a recording and read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sonde.errors import UsageError
from sonde.record.machine_recording import write_machine_recording
from sonde.record.system.tprof import IDLE, OUTSIDE, LocatedTick, Ticks
from sonde.recording.reader import read
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.threads import threads
from sonde.views.tprof import tprof, tprof_of
from synthetic import MS, Maker

if TYPE_CHECKING:
    from pathlib import Path

BEGAN = 5_000 * MS
SHOP = (7, "shop", 8, "worker")
PRICE = "price /app/shop.py:12"


def ticks() -> Ticks:
    """A second of two processors at 10 Hz: half idle."""
    places = []
    for i in range(10):
        at = BEGAN + i * 100 * MS
        places.append(LocatedTick(at, 0, IDLE, 0, IDLE, "kernel", "mwait_idle", 0))
        ran = [
            LocatedTick(at, *SHOP, "PYTHON", PRICE, 1, "/app/shop.py", 12),
            LocatedTick(at, *SHOP, "libc.so.6", "memcpy", 1),
            LocatedTick(at, *SHOP, "libz.so.1", "NoSymbols", 1),
            LocatedTick(at, 0, OUTSIDE, -1, OUTSIDE, "[unknown]", "NoSymbols", 1),
        ]
        places.append(ran[i % 4])
    return Ticks(places, lost=3, processors=2, rate=10, duration_ns=1_000 * MS, began_ns=BEGAN)


@pytest.fixture
def path(tmp_path: Path) -> str:
    found = str(tmp_path / "machine.sonde")
    assert write_machine_recording(found, ticks(), ["tprof"]) == 20
    return found


def test_the_report_of_the_recording_is_the_one_of_the_ticks(path: str) -> None:
    made = ticks()
    places = [tick._replace(tid=tick.tid & 0xFFFFFFFF) for tick in made.places]
    direct = tprof(places, lost=3, processors=2, rate=10, duration_ns=made.duration_ns)
    assert tprof_of(read(path)).to_json() == direct.to_json()
    assert direct.idle == 10


def test_a_part_of_it(path: str) -> None:
    recording = read(path)
    shop = tprof_of(recording, Selection(process=7))
    assert (shop.ticks, shop.idle) == (8, 0)
    early = tprof_of(recording, Selection(end_ns=450 * MS))
    assert (early.ticks, early.duration_ns) == (10, 450 * MS)


def test_other_views_count_what_ran(path: str) -> None:
    recording = read(path)
    assert recording.warnings == []
    found = {(row.function.name, row.function.file): row.self_ns for row in flat(recording).rows}
    assert found["price", "/app/shop.py"] == 300 * MS
    assert found["memcpy", "<libc.so.6>"] == 300 * MS
    # Symbols without a name are of their module.
    assert found["NoSymbols", "<libz.so.1>"] == found["NoSymbols", "<[unknown]>"] == 200 * MS
    assert sum(found.values()) == 1_000 * MS
    by_name = {row.name: row.cpu_ns for row in threads(recording).rows}
    assert by_name == {"worker": 800 * MS, OUTSIDE: 200 * MS, IDLE: 0}
    assert recording.samples.processor.tolist() == [0, 1] * 10


def test_another_recording_has_no_such_view() -> None:
    with pytest.raises(UsageError, match="is not a recording of the whole machine; make one with"):
        tprof_of(Maker().recording())
