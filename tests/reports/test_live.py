"""The head of `sonde top`, in words."""

from __future__ import annotations

import os
from dataclasses import replace

from reports.page import printed
from sonde.reports.live.process import ThreadNow, render, without_ended
from sonde.top.states import threads_now
from sonde.views.live import Live, live
from sonde.views.quality import Problem
from synthetic import MS, Maker


def seen(runtime: str) -> Live:
    make = Maker(duration_ns=1000 * MS)
    make.sample("main:1", 500 * MS, time=700 * MS)
    recording = make.recording()
    # Ourselves: what the kernel says of threads is asked of a process that lives.
    recording.processes[:] = [
        replace(p, runtime=runtime, pid=os.getpid(), end_ns=None) for p in recording.processes
    ]
    return live(recording, 0, 1000 * MS)


def test_only_python_has_a_gil() -> None:
    said = {
        runtime: next(
            line
            for line in printed(lambda out, r=runtime: render(seen(r), [], out, title="x"), 80)
            if line.startswith("GIL")
        )
        for runtime in ("cpython", "hotspot")
    }
    assert said == {
        "cpython": "GIL  no waits",
        "hotspot": "GIL  not used by Java programs",
    }


def test_only_python_calls_its_first_thread_main_thread() -> None:
    def name(runtime: str) -> str:
        (row,) = [row for row in threads_now(seen(runtime)) if row.tid == os.getpid()]
        return row.name

    assert name("cpython") == "MainThread"
    assert name("hotspot") != "MainThread"


def ended(number: int) -> ThreadNow:
    return ThreadNow(1000 + number, 100, f"Thread-{number}", 2 * MS, 3 * MS, "ended", "has ended")


def test_threads_that_have_ended_are_one_row_if_they_are_many() -> None:
    lives = ThreadNow(7, 100, "MainThread", 30 * MS, 0, "running", "running")
    few = [lives, *map(ended, range(5))]
    assert without_ended(few) == few
    main, together = without_ended([*map(ended, range(10)), lives])
    assert main == lives
    assert (together.name, together.cpu_ns, together.wait_ns) == ("10 threads", 20 * MS, 30 * MS)
    said = printed(
        lambda out: render(seen("cpython"), [lives, *map(ended, range(40))], out, title="x"), 80
    )
    # Most CPU time first, and no number of a thread.
    (row,) = [line for line in said if "40 threads" in line]
    assert row.split() == ["8.0", "%", "12.0", "%", "40", "threads", "have", "ended"]


def test_a_problem_is_shown_with_what_to_do() -> None:
    found = seen("cpython")
    counters = dict(found.quality.counters) | {"lost": 0, "undecodable": 0}
    problem = Problem("13.5 % of the CPU time has no samples", "", 0.1, "record at a higher --rate")
    found = replace(found, quality=replace(found.quality, counters=counters, problems=[problem]))
    said = printed(lambda out: render(found, [], out, title="x"), 160)
    assert said[3].startswith(
        "Data ! 13.5 % of the CPU time has no samples: record at a higher --rate; 1 sample"
    )
