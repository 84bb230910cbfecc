"""Signals interrupt blocked system calls, or let them go on, as they do without sonde."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, has_agent, until
from launching import TARGETS, TIMEOUT_S, Interpreter, run_command
from matrix import OLDEST_AND_NEWEST

Keep = Callable[[str], Path]

PROGRAM = TARGETS / "interrupts.py"
TURNS = 9
WHAT = ("cpu,waits", "cpu,waits,locks")
# Threads that compute enter the kernel's signal code at every tick, and take the main thread's
# signals there.
BUSY_THREADS = 2
BUSY_TURNS = 3  # each signal once
WHAT_BUSY = ("cpu", "cpu,locks", "cpu,waits,locks")


def check(told: dict[str, Any], turns: int = TURNS, early: int = 0) -> None:
    counts = dict(told["interrupted"])
    assert counts.pop("read") == 2 * turns
    assert set(counts.values()) == {turns}, counts
    assert (told["restarted"], told["ran"], told["early"]) == (turns, turns, early)


@pytest.mark.parametrize("what", WHAT)
def test_in_a_program_that_is_run(python: Interpreter, keep: Keep, what: str) -> None:
    command = [python.path, PROGRAM, str(TURNS)]
    run = run_command(keep("interrupts"), command, "--what", what, "--rate", "5000")
    assert run.code == 0, run.out + run.err
    check(run.told)
    assert run.recording.quality["waits"] > 10 * TURNS


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("what", WHAT)
def test_in_a_program_that_is_attached_to(python: Interpreter, keep: Keep, what: str) -> None:
    with Target(python, PROGRAM, str(TURNS)) as target:
        by = attach(target.pid, keep("interrupts"), "--what", what, "--rate", "5000")
        until(lambda: has_agent(target.pid, "sonde-reader"), "its waits are recorded", by)
        code, out, err = target.end("go\n")
        by.communicate(timeout=TIMEOUT_S)
    assert (code, err) == (0, ""), out
    check(json.loads(out.strip().splitlines()[-1]))


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("what", WHAT_BUSY)
def test_beside_threads_that_compute(python: Interpreter, keep: Keep, what: str) -> None:
    command = [python.path, PROGRAM, str(BUSY_TURNS), str(BUSY_THREADS)]
    run = run_command(keep("interrupts"), command, "--what", what)
    assert run.code == 0, run.out + run.err
    check_beside_threads(python, run.told)


def check_beside_threads(python: Interpreter, told: dict[str, Any]) -> None:
    # 3.11 does not show which signal a thread has taken: one whose handler has SA_RESTART may let
    # the call run its handler and go on.
    check(told, BUSY_TURNS, told["early"] if python.version == "3.11" else 0)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_beside_threads_that_compute_and_are_attached_to(python: Interpreter, keep: Keep) -> None:
    with Target(python, PROGRAM, str(BUSY_TURNS), str(BUSY_THREADS)) as target:
        by = attach(target.pid, keep("interrupts"))  # which enters meanwhile
        code, out, err = target.end("go\n")
        by.communicate(timeout=TIMEOUT_S)
    assert (code, err) == (0, ""), out
    check_beside_threads(python, json.loads(out.strip().splitlines()[-1]))
