"""Sub-interpreters are told apart: a thread that runs two has two rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launching import TARGETS, Interpreter, must_run
from truth.stacks import Stacks


def test_sub_interpreters_are_seen(python: Interpreter, keep: Callable[[str], Path]) -> None:
    run = must_run(
        keep("interpreters"), [python.path, TARGETS / "interpreters.py"], "--rate", "5000"
    )
    recording = run.recording
    stacks, samples, threads = Stacks(recording), recording.samples, recording.threads
    rows = {}
    for function, spent in run.told["spent"].items():
        inside = stacks.below(lambda frame, name=function: frame.code.name == name)
        mine = inside[samples.context]
        where = set(samples.thread[mine].tolist())
        assert len(where) == 1, f"{function} is in {len(where)} rows"
        rows[function] = where.pop()
        assert samples.weight[mine].sum() == pytest.approx(spent, rel=0.05)
    interpreter = {name: int(threads.interpreter[row]) for name, row in rows.items()}
    assert interpreter == {
        "in_main": 0,
        "in_sub_a": run.told["first"],
        "in_sub_b": run.told["second"],
    }
    tid = {name: int(threads.tid[row]) for name, row in rows.items()}
    assert tid["in_main"] == tid["in_sub_a"] != tid["in_sub_b"]
    assert threads.name[rows["in_main"]] == "MainThread"
