"""Tasks of uvloop, which calls callbacks from C, beside what the program measured itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from environments import wheels
from launching import Interpreter, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.views.loops.tasks import tasks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from truth.stacks import PROGRAMS

EDGES_NS = 10_000_000
"""What beside other load passes between the program's own stamps and the edges of its steps."""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_steps_and_samples_are_those_of_their_tasks(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    packages = wheels("uvloop", ["uvloop>=0.21"], python)
    run = must_run(
        keep(f"uvloop-{python.version}"),
        [python.path, PROGRAMS / "tasks.py", "uvloop", "20"],
        "--what", "+tasks",
        env=clean_environment(PYTHONPATH=packages),
    )  # fmt: skip
    found = tasks(run.recording)
    assert [loop.runtime for loop in found.loops] == ["uvloop"]
    rows = {row.name: row for row in found.rows if row.kind == "task"}
    for name, ns in run.told["spent"].items():
        row = rows[name]
        assert row.running_ns == pytest.approx(ns, rel=0.1, abs=EDGES_NS)
        assert row.created_ns is not None
        assert row.ended_ns is not None
        assert row.life_ns == pytest.approx(row.ended_ns - row.created_ns, rel=0.02)

    def rendered(task: str | None) -> int:
        profile = flat(run.recording, Selection(task=task))
        return sum(row.total_ns for row in profile.rows if row.function.name == "render")

    assert rendered("blocker") >= 0.995 * rendered(None) > 0
