"""Waiting by kind, of which lock events and samples both know a part."""

from __future__ import annotations

from sonde.views.selecting.selection import Selection
from sonde.views.summary import summary
from sonde.views.threads import threads
from synthetic import MS, Maker


def made(*, waits: bool) -> Maker:
    """One thread slept for 100 ms, waited 50 ms for a lock and 20 for the GIL."""
    make = Maker()
    make.lock("gil", "gil")
    make.wait("l", "t", "a", 200 * MS, 250 * MS, "get:1 > _thread.lock.acquire")
    make.wait("gil", "t", "a", 250 * MS, 270 * MS)
    if waits:
        make.sample("sleep:1", 100 * MS, thread="t", state=1, time=150 * MS)
        make.sample("get:1", 69 * MS, thread="t", state=1, time=269 * MS)
        make.sample("get:1", 3 * MS, thread="t", state=2, time=272 * MS)
        make.sample("other:1", 30 * MS, thread="u", state=1, time=260 * MS)
    return make


def test_lock_events_alone() -> None:
    assert summary(made(waits=False).recording()).wait_ns == {"gil": 20 * MS, "lock": 50 * MS}


def test_the_same_waiting_counts_once() -> None:
    found = {row.name: row.wait_ns for row in threads(made(waits=True).recording()).rows}
    assert found["t"] == {
        "gil": 20 * MS,
        "lock": 50 * MS,
        "waiting": 100 * MS,
        "preempted": 2 * MS,
    }
    # Another thread's waiting is not taken out of this one's.
    assert found["u"] == {"waiting": 30 * MS}


def test_it_obeys_the_selection() -> None:
    recording = made(waits=True).recording()
    part = summary(recording, Selection(start_ns=100 * MS, end_ns=220 * MS))
    assert part.wait_ns == {"lock": 20 * MS, "waiting": 50 * MS}
    of_u = summary(recording, Selection(thread="u"))
    assert of_u.wait_ns == {"waiting": 30 * MS}
