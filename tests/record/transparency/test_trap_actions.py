"""A program that sets its own handler of SIGTRAP, the signal that brings the ticks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach, until
from launching import TARGETS, TIMEOUT_S, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.errors import SondeError
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

PROGRAM = TARGETS / "trap_actions.py"
TOLD = {"set": [1, True, 1, True, 2, True], "child": 7, "killed": -5}
OPTIONS = ("-W", "ignore::DeprecationWarning")


def test_handlers_of_a_program_that_runs(python: Interpreter, keep: Keep) -> None:
    run = must_run(keep("trap"), [python.path, *OPTIONS, PROGRAM], text="\n")
    assert run.told == TOLD
    assert run.recording.quality["taken"] > 300


@pytest.mark.parametrize("what", ["cpu,locks", "cpu,waits"])
def test_handlers_of_a_program_that_is_attached_to(
    python: Interpreter, keep: Keep, what: str
) -> None:
    path = keep("trap-attached")
    with Target(python, PROGRAM, options=OPTIONS) as target:
        process = attach(target.pid, path, "--what", what)
        until(lambda: is_recorded(path), "it is recorded", process)
        code, out, err = target.end("\n")
        _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    assert (code, err) == (0, "")
    assert json.loads(out) == TOLD
    recording = read(path)
    assert recording.quality["taken"] > 300


def is_recorded(path: Path) -> bool:
    """Whether the recorder has written of the process, which only waits so far."""
    try:
        return bool(read(path).processes)
    except (SondeError, OSError):
        return False  # nothing was written yet
