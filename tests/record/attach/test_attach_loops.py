"""Attaching to programs whose event loops are never idle, again and again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach
from launching import TARGETS, TIMEOUT_S, Interpreter
from matrix import soak
from sonde.recording.reader import read
from sonde.row_values import TASK
from sonde.views.loops.tasks import tasks


@pytest.mark.parametrize("cycles", [3, soak(300)])
def test_tasks_are_those_of_the_time_of_the_recording(
    python: Interpreter, cycles: int, keep: Callable[[str], Path]
) -> None:
    path = keep("loops")
    with Target(python, TARGETS / "loops.py") as target:
        for _ in range(cycles):
            path.unlink(missing_ok=True)
            done = attach(target.pid, path, "--for", "0.2", "--what", "+tasks")
            _, err = done.communicate(timeout=TIMEOUT_S)
            assert done.returncode == 0, err
        assert target.alive
        code, out, err = target.end()
    assert (code, out, err) == (0, "True []\n", "")
    recording = read(path)
    found = tasks(recording)
    assert len(found.loops) == 2
    assert {"serve", "answer"} & {row.coroutine.name for row in found.rows if row.coroutine}
    assert len(recording.tasks.id) == len(set(recording.tasks.id.tolist()))
    for row in found.rows:
        if row.kind == "task" and row.created_ns is not None and row.ended_ns is not None:
            life = row.ended_ns - row.created_ns
            assert row.life_ns == pytest.approx(life, rel=0.02, abs=20_000)
    assert (recording.tasks.kind == TASK).any()
