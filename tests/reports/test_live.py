"""The head of `sonde top`, in words."""

from __future__ import annotations

import os
from dataclasses import replace

from reports.page import printed
from sonde.reports.live.process import render
from sonde.top.states import threads_now
from sonde.views.live import Live, live
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
