"""A program must not notice that it is recorded."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment, run_command
from matrix import on_both_ends

Keep = Callable[[str], Path]


def facts(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture(scope="session")
def without(python: Interpreter) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python.path, TARGETS / "behaviour.py", "an argument", ""],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment(MARKER="kept"),
        timeout=TIMEOUT_S,
        check=False,
    )


# Open waits are looked at by a thread of the agent's; nothing else of it is in the target.
WARNING = re.compile("DeprecationWarning: This process .* is multi-threaded|child = os.fork")
OWN_THREADS = {"cpu": 0, "cpu,locks": 0, "cpu,waits": 1, "cpu,calls": 0}


@pytest.mark.parametrize(
    "what", ["cpu,locks", "cpu,calls", on_both_ends("cpu"), on_both_ends("cpu,waits")]
)
def test_a_program_sees_the_same_world(
    python: Interpreter, without: subprocess.CompletedProcess[str], keep: Keep, what: str
) -> None:
    run = run_command(
        keep("behaviour"),
        [python.path, TARGETS / "behaviour.py", "an argument", ""],
        *("--rate", "10000", "--what", what),
        env=clean_environment(MARKER="kept"),
    )
    alone, under = facts(without.stdout), facts(run.out)
    under["surroundings"]["threads"] -= OWN_THREADS[what]
    under["threads_afterwards"][1] -= OWN_THREADS[what]
    assert alone.keys() == under.keys()
    differences = {key: (alone[key], under[key]) for key in alone if alone[key] != under[key]}
    assert not differences
    assert (run.code, without.returncode) == (7, 7)
    others = [line for line in run.err.splitlines() if not line.startswith("sonde: ")]
    if OWN_THREADS[what] and python.minor >= 12:
        # The known price of that thread: Python warns a program that forks while it has threads.
        others = [line for line in others if not WARNING.search(line)]
    assert others == without.stderr.splitlines()
    assert run.recording.quality["taken"] > 1000
