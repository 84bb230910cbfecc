"""Findings about event loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.recording.tables import Recording
from sonde.recording.task_tables import Tasks, TaskSteps
from sonde.row_values import TASK
from sonde.views.findings.evidence import Evidence, Finding
from sonde.views.findings.loop_findings import slow_steps
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

THREAD = "MainThread"


def recording(*lengths_ms: int) -> Recording:
    """Steps of one task, one after the other, each a quarter in `parse`, the rest in `render`."""
    make = Maker()
    make.thread(THREAD)
    steps, time = [], 10 * MS
    for length in lengths_ms:
        steps.append((time, length * MS))
        quarter = length * MS // 4
        make.sample("handle:3 > parse:4", quarter, time=time + quarter)
        make.sample("handle:5 > render:9", 3 * quarter, time=time + length * MS)
        time += length * MS + MS
    made = make.recording()
    size = len(steps)
    return replace(
        made,
        tasks=Tasks(
            process=np.zeros(1, np.uint32),
            id=np.array([5], np.uint64),
            kind=np.array([TASK], np.uint8),
            name=["Task-1"],
            function=np.array([made.functions.name.index("handle")], np.int32),
            parent=np.zeros(1, np.uint64),
            created_ns=np.zeros(1, np.int64),
        ),
        task_steps=TaskSteps(
            thread=np.zeros(size, np.uint32),
            time=np.array([start for start, _ in steps], np.int64),
            task=np.full(size, 5, np.uint64),
            duration_ns=np.array([length for _, length in steps], np.int64),
            caused_ns=np.zeros(size, np.int64),
        ),
    )


def found(made: Recording, selection: Selection | None = None) -> list[Finding]:
    return list(slow_steps(Evidence(made, selection or Selection())))


def test_slow_steps_are_named_with_what_they_did() -> None:
    (finding,) = found(recording(120, 5, 240))
    assert finding.title == "handle runs long without awaiting"
    assert "2 steps of handle" in finding.detail
    assert "took 100 ms or more, the longest 240 ms, 75 % of their CPU time in render" in (
        finding.detail
    )
    assert "--task handle" in finding.view


def test_shorter_steps_are_no_finding() -> None:
    assert found(recording(99, 99, 99)) == []
    assert found(recording(120), Selection(start_ns=50 * MS)) == []
