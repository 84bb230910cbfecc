"""What threads are called."""

from __future__ import annotations

import os
from typing import Any, cast

import pytest

from sonde.record.shm import layout as shm
from sonde.record.tables import threads
from sonde.record.tables.active_sampler import Sampling
from sonde.record.tables.segment import ProcessSegment
from sonde.record.tables.thread_names import NAME_NS, NAMES_AT_ONE_PLACE, ThreadNames
from sonde.record.tables.thread_time import SampleContext
from sonde.record.tables.threads import OpenLockWait, Threads

NOBODY = 1 << 30
"""No thread has this id."""


def test_an_address_is_used_again() -> None:
    names = ThreadNames(os.getpid(), "cpython")
    names.add(64, 200, "second")
    names.add(64, 100, "first")  # its ring was drained later
    assert names.of(NOBODY, 64, 150) == "first"
    assert names.of(NOBODY, 64, 250) == "second"
    # Seen before it told its name.
    assert names.of(NOBODY, 64, 50) == "first"
    names.reported[NOBODY] = "as the program says"
    assert names.of(NOBODY, 64, 250) == "as the program says"


def test_threads_without_a_name() -> None:
    assert ThreadNames(NOBODY, "cpython").of(NOBODY, 1, 0) == "MainThread"
    assert ThreadNames(NOBODY, "hotspot").of(NOBODY, 1, 0) == ""
    names = ThreadNames(os.getpid(), "hotspot")
    assert names.of(os.getpid(), 1, 0) != ""
    assert names.of_virtual(shm.VIRTUAL | 7) == "virtual thread 7"
    names.add_virtual(shm.VIRTUAL | 7, "mine")
    assert names.of_virtual(shm.VIRTUAL | 7) == "mine"


def test_names_that_nobody_needs_are_forgotten() -> None:
    names = ThreadNames(os.getpid(), "cpython")
    for at in range(20):
        names.add(64, at, f"name {at}")
    names.add(128, 0, "over")
    names.add(192, NAME_NS, "maybe not seen yet")
    names.forget(NAME_NS + 20, {64})
    assert 64 in names
    assert 192 in names
    assert 128 not in names
    # The oldest of those that are left stands for all before it.
    assert names.of(NOBODY, 64, 0) == f"name {20 - NAMES_AT_ONE_PLACE}"


def test_a_thread_of_the_agent_is_none_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has an interpreter's state while it wants the GIL, and whoever looks then finds it."""
    called = {1: "worker", 2: "sonde-control"}
    monkeypatch.setattr(threads, "name_of", lambda _, tid: called[tid])
    segment = ProcessSegment(NOBODY, "cpython", cast("Any", None), 0)
    known = Threads(segment, Sampling("cpython"), *cast("Any", ({}, None, None)))
    for tid in called:
        known.set_open_wait(tid, OpenLockWait(5, 0, SampleContext(0, 0), 0))
    assert len(known) == 1
    known.time_of(1, 5)
    assert len(known) == 1
