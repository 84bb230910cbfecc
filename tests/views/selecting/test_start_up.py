"""The start-up of recordings made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.errors import UsageError
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.start_up import after_start_up, start_up
from sonde.views.stacks.flat import flat
from sonde.views.summary import summary
from synthetic import MS, Maker

IMPORT = "main:1 > load:1360 > models:3"


def maker() -> Maker:
    make = Maker(what=["cpu"])
    make.define("load", "<frozen importlib._bootstrap>", 1349)
    # The thread that the kernel knows by the process's own number.
    make.threads["MainThread"] = [0, 100, 0, -1, -1]
    return make


def samples(make: Maker, chain: str, times: Any, thread: str = "MainThread") -> None:
    for time in times:
        make.sample(chain, MS, thread=thread, time=time * MS)


def test_its_share_is_what_skipping_it_leaves_out() -> None:
    make = maker()
    samples(make, "main:1", [1])
    samples(make, IMPORT, range(2, 11))
    samples(make, "other:1", [5, 10, 11], thread="worker")
    samples(make, "main:2 > work:9", range(11, 51))
    recording = make.recording()
    found = start_up(recording)
    assert found is not None
    assert (found.cpu_ns, found.import_ns, found.total_ns) == (12 * MS, 9 * MS, 53 * MS)
    later = after_start_up(recording, Selection())
    assert flat(recording, later).total_ns == found.total_ns - found.cpu_ns
    assert summary(recording).start_up == found
    assert summary(recording, later).start_up is None
    assert summary(recording).to_json()["start_up"] == {
        "end_ns": 10 * MS + 1,
        "cpu_ns": 12 * MS,
        "import_ns": 9 * MS,
        "share": 12 / 53,
    }


def test_of_a_server_ends_before_it_accepts() -> None:
    make = maker()
    samples(make, IMPORT, range(1, 11))
    samples(make, "main:2 > _socket.socket.accept", [12])
    samples(make, IMPORT, range(13, 21))
    found = start_up(make.recording())
    assert found is not None
    assert found.end_ns == 10 * MS + 1


def test_only_main_threads_start_up() -> None:
    make = maker()
    samples(make, "main:1", range(1, 5))
    samples(make, IMPORT, range(1, 30), thread="worker")
    assert start_up(make.recording()) is None


def test_a_recording_without_one() -> None:
    make = maker()
    samples(make, "main:1 > work:9", range(1, 30))
    recording = make.recording()
    assert start_up(recording) is None
    with pytest.raises(UsageError, match=r"app\.sonde has no start-up; leave out --skip-startup"):
        after_start_up(recording, Selection())


def test_a_range_that_ends_before_it_does() -> None:
    make = maker()
    samples(make, IMPORT, range(1, 11))
    with pytest.raises(UsageError, match=r"the start-up ends at 0\.01 s"):
        after_start_up(make.recording(), Selection(end_ns=5 * MS))
