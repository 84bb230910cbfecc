"""The threads view against tables done by hand."""

from __future__ import annotations

from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection
from sonde.views.threads import threads
from synthetic import Maker


def made() -> Maker:
    make = Maker(duration_ns=1_000)
    make.thread("MainThread", start=0, end=900, cpu=333)
    make.thread("worker", start=100)
    make.sample("a:1", 300, time=300)
    make.sample("a:1", 500, time=900, state=1)
    make.sample("b:1", 400, time=500, thread="worker")
    make.sample("b:1", 50, time=600, thread="worker", state=2)
    return make


def test_the_kernel_knows_better_where_it_was_asked() -> None:
    rows = threads(made().recording()).rows
    assert [(r.name, r.wall_ns, r.cpu_ns, r.wait_ns) for r in rows] == [
        ("worker", 900, 400, {"preempted": 50}),
        ("MainThread", 900, 333, {"waiting": 500}),
    ]


def test_within_a_range_only_samples_can_tell() -> None:
    rows = threads(made().recording(), Selection(start_ns=250, end_ns=450)).rows
    assert [(r.name, r.wall_ns, r.cpu_ns, r.wait_ns) for r in rows] == [
        ("MainThread", 200, 300, {"waiting": 50}),
        ("worker", 200, 0, {}),
    ]


def test_json_has_every_key() -> None:
    json = threads(made().recording(), Selection(thread="worker")).to_json()
    assert json == {
        "rows": [
            {
                "tid": 1001,
                "name": "worker",
                "process": 100,
                "interpreter": 0,
                "start_ns": 100,
                "wall_ns": 900,
                "cpu_ns": 400,
                "corrected_cpu_ns": None,
                "taken_ns": None,
                "run_delay_ns": None,
                "steal_ns": None,
                "wait_ns": {"preempted": 50},
                "switches": {"voluntary": None, "involuntary": None},
                "page_faults": None,
                "metrics": {},
            }
        ]
    }


def test_the_duration_of_a_recording_that_does_not_say() -> None:
    make = made()
    del make.target["duration_ns"]
    make.processes[0] = make.processes[0].__class__(
        100, 1, "cpython", "3.12.1", "/usr/bin/python3", [], 0
    )
    assert duration_ns(make.recording()) == 900
    make.mark("late", 950)
    assert duration_ns(make.recording()) == 950


def test_who_waits_for_a_lock_lives() -> None:
    make = Maker(duration_ns=1_000)
    make.thread("MainThread", start=0)
    make.thread("cleaner", start=200, end=300, cpu=1)
    make.sample("a:1", 10, time=10)
    make.wait("lock", "cleaner", "MainThread", 100, 900)
    row = threads(make.recording(), Selection(thread="cleaner")).rows[0]
    assert row.wait_ns == {"lock": 800}
    assert row.wall_ns == 800
