"""The table of locks."""

from __future__ import annotations

import json

import pytest

from sonde.views.locks.lock_table import lock_table
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

TAKE, LEAVE = " > _thread.lock.__enter__", " > _thread.lock.__exit__"


def made() -> Maker:
    make = Maker(duration_ns=2_000 * MS)
    # Two queue up: A holds it for 60 ms of waiting, then the first waiter for 40 ms more.
    make.enter("l", "w1", 100 * MS, f"get:1{TAKE}")
    make.enter("l", "w2", 120 * MS, f"get:1{TAKE}")
    make.release("l", "a", 160 * MS, f"slow:2{LEAVE}")
    make.entered("l", "w1", 160 * MS)
    make.release("l", "w1", 200 * MS, f"get:1{LEAVE}")
    make.entered("l", "w2", 200 * MS)
    make.enter("l", "w1", 1_500 * MS, f"get:1{TAKE}")
    make.gave_up("l", "w1", 1_510 * MS)
    make.lock("gil", "gil")
    make.wait("gil", "w1", "a", 300 * MS, 305 * MS, "get:1", "slow:9")
    return make


def test_a_lock() -> None:
    found = lock_table(made().recording())
    assert found.total_ns == (60 + 80 + 10 + 5) * MS
    lock, gil = found.rows
    assert (lock.lock, lock.kind, lock.address) == ("get in app.py:1", "lock", 0x1000)
    assert (lock.waits, lock.wait_ns, lock.max_ns, lock.mean_ns) == (3, 150 * MS, 80 * MS, 50 * MS)
    assert (lock.holds, lock.hold_ns) == (2, 50 * MS)
    assert (lock.waiters, lock.owners) == (2, 2)
    assert lock.owner_function is not None
    assert lock.owner_function["name"] == "slow"
    assert (lock.owner_ns, lock.unknown_ns) == (100 * MS, 10 * MS)
    assert lock.pressure == pytest.approx(0.075)
    assert (lock.peak, lock.peak_at_ns) == (pytest.approx(0.14), 0)
    assert (gil.lock, gil.kind, gil.waits, gil.hold_ns) == ("GIL", "gil", 1, 5 * MS)
    assert (gil.waiters, gil.owners) == (1, 1)


def test_json() -> None:
    found = lock_table(made().recording()).to_json()
    json.dumps(found)
    assert found["rows"][0]["address"] == "0x1000"
    assert found["duration_ns"] == 2_000 * MS


def test_top_and_selection() -> None:
    recording = made().recording()
    assert [row.lock for row in lock_table(recording, top=1).rows] == ["get in app.py:1"]
    part = lock_table(recording, Selection(start_ns=1_000 * MS, end_ns=2_000 * MS))
    (row,) = part.rows
    assert (row.waits, row.wait_ns, row.holds, row.hold_ns) == (1, 10 * MS, 0, None)
    assert (row.pressure, row.peak_at_ns) == (pytest.approx(0.01), 1_000 * MS)


def test_what_is_a_signal_is_not_held() -> None:
    make = Maker()
    make.define("Event.wait", "/usr/lib/python3.12/threading.py", 1)
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 2)
    chain = "work:1 > Event.wait:3 > Condition.wait:4 > _thread.lock.acquire"
    make.wait("s", "t", "a", 0, 10 * MS, chain)
    (row,) = lock_table(make.recording()).rows
    assert (row.signalling, row.hold_ns, row.address, row.owners) == (True, None, None, 1)


def test_the_worst_second() -> None:
    make = Maker(duration_ns=10_000 * MS)
    for i in range(3):
        make.enter("l", f"t{i}", 7_200 * MS, f"get:1{TAKE}")
    for i in range(3):
        make.release("l", "a", 7_700 * MS, f"hold:1{LEAVE}")
        make.entered("l", f"t{i}", 7_700 * MS)
    (row,) = lock_table(make.recording()).rows
    assert (row.peak, row.peak_at_ns) == (pytest.approx(1.5), 7_000 * MS)
    assert row.pressure == pytest.approx(0.15)


def test_nothing() -> None:
    assert lock_table(Maker().recording()).rows == []
