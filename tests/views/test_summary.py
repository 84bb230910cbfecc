"""The summary's figures and its JSON."""

from __future__ import annotations

import json

from sonde.views.selecting.selection import Selection
from sonde.views.summary import summary
from synthetic import MS, Maker
from views.test_quality import GOOD


def made() -> Maker:
    make = Maker()
    make.quality = dict(GOOD)
    child = make.process(200)
    make.thread("MainThread", cpu=61 * MS)
    make.thread("child", process=child)
    for _ in range(60):
        make.sample("main:3 > work:12")
    for i in range(12):
        make.sample(f"f{i}:1", thread="child")
    make.sample("main:4", 100 * MS, state=1)
    make.sample("main:4", 7 * MS, state=2)
    make.sample("main:4", 3 * MS, state=1, thread="child")
    return make


def test_json_is_as_agreed() -> None:
    found = summary(made().recording()).to_json()
    assert list(found) == [
        "target",
        "duration_ns",
        "cpu_ns",
        "corrected_cpu_ns",
        "wait_ns",
        "processes",
        "threads",
        "top",
        "findings",
        "quality",
        "spans",
        "mine",
        "start_up",
    ]
    assert found["target"]["program"] == "app.py"
    assert found["duration_ns"] == 1_000 * MS
    assert found["cpu_ns"] == 61 * MS + 12 * MS
    assert found["wait_ns"] == {"waiting": 103 * MS, "preempted": 7 * MS}
    assert [p["pid"] for p in found["processes"]] == [100, 200]
    assert [t["name"] for t in found["threads"]] == ["MainThread", "child"]
    assert len(found["top"]) == 10
    assert found["top"][0] == {
        "name": "work",
        "file": "/app/app.py",
        "line": 1,
        "self": 60 * MS,
        "total": 60 * MS,
        "samples": 60,
    }
    assert [f["title"] for f in found["findings"]] == [
        "most off-CPU time is in main",
        "work is hot",
    ]
    assert found["quality"]["sampler"] == "perf-sigtrap"
    json.dumps(found)


def test_it_obeys_the_selection() -> None:
    found = summary(made().recording(), Selection(process=200), top=3)
    assert found.cpu_ns == 12 * MS
    assert found.wait_ns == {"waiting": 3 * MS}
    assert [p.pid for p in found.processes] == [200]
    assert len(found.top.rows) == 3


def test_a_range_of_time_is_the_duration() -> None:
    found = summary(made().recording(), Selection(start_ns=200 * MS, end_ns=5_000 * MS))
    assert found.duration_ns == 800 * MS
