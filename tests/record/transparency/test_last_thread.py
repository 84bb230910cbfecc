"""No thread of the agent keeps a process alive, whatever way its last own thread ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach, has_agent, until
from launching import TARGETS, TIMEOUT_S, Interpreter, run_command
from matrix import OLDEST_AND_NEWEST

Keep = Callable[[str], Path]

PROGRAM = TARGETS / "last_thread.py"
TURNS = 3


def check(code: int, out: str, err: str) -> None:
    assert code == 0, out + err
    lines = [line for line in out.splitlines() if line]
    told = next(json.loads(line) for line in lines if line.startswith("{"))
    assert told == {name: [0] * TURNS for name in ("returns", "exits", "leaves_another")}
    # Each of them has run what is to run at its exit, once.
    assert sorted(line for line in lines if line in "relm") == sorted("rel" * TURNS + "m")


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_without_sonde(python: Interpreter) -> None:
    with Target(python, PROGRAM, str(TURNS), "end") as target:
        check(*target.end("go\n"))


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("what", ["cpu,waits", "cpu,waits,locks"])
def test_in_a_program_that_is_run(python: Interpreter, keep: Keep, what: str) -> None:
    command = [python.path, PROGRAM, str(TURNS), "end"]
    run = run_command(keep("last"), command, "--what", what)
    check(run.code, run.out, run.err)
    assert len(run.recording.processes) == 1 + 3 * TURNS


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("what", ["cpu", "cpu,waits,locks"])
def test_in_a_program_that_is_attached_to(python: Interpreter, keep: Keep, what: str) -> None:
    with Target(python, PROGRAM, str(TURNS), "end") as target:
        by = attach(target.pid, keep("last"), "--what", what)
        thread = "sonde-reader" if "waits" in what else "sonde-control"
        until(lambda: has_agent(target.pid, thread), "the agent is there", by)
        code, out, err = target.end("go\n")
        _, said = by.communicate(timeout=TIMEOUT_S)
    check(code, out, err)
    assert by.returncode == 0, said
