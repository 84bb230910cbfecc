"""New activations of Java methods are told from old ones."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from java import Jdk, compiled
from launching import SONDE, TIMEOUT_S, clean_environment
from shared import run_folder

from sonde.record.control_client import ControlClient, socket_of

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
RATE = 2000
CALL_S = 6 / RATE
# Until a place in compiled code was seen once, and while frames are replaced by compiled ones.
LEARNING = 0.1
# A sample whose frames are not known finds no new activation where the stack looks the same.
MISSED = 0.05
# Where others take the processor, signals come too late for a stack.
ATTEMPTS = 3

OPTIONS = (
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=exclude,Called.slow*",
    "-XX:CompileCommand=dontinline,Called.call*",
)


def recorded(jdk: Jdk, classes: Path, path: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """How often each method was called, and the profile of the whole session."""
    target = [jdk.java, *OPTIONS, "-cp", classes, "Called", str(CALL_S)]
    process = subprocess.Popen(
        [*SONDE, "run", "-o", path, "--rate", str(RATE), "--budget", "90%", "--", *target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    assert process.stdout
    told = json.loads(process.stdout.readline())
    with ControlClient(socket_of(str(told["pid"]))) as orders:
        profile = orders.give({"do": "hot", "by": "function", "top": 100})
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    return told["calls"], profile


@pytest.fixture(scope="module")
def told(
    jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, int], dict[str, Any]]:
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    for _ in range(ATTEMPTS):
        calls, profile = recorded(jdk, classes, keep(f"called-{jdk}"))
        if profile["unknown_ns"] < 0.01 * profile["total_ns"]:
            break
    return calls, profile


def test_each_call_is_found_once(told: tuple[dict[str, int], dict[str, Any]]) -> None:
    calls, profile = told
    names = [function[0] for function in profile["functions"]]
    found = dict.fromkeys(calls, 0)
    for edge in profile["hot_edges"]:
        name = names[edge["callee"]].removeprefix("Called.")
        if name in found:
            found[name] += edge["activations"]
    for name, true in calls.items():
        if true > 1:
            assert abs(found[name] - true) <= 3 + MISSED * true, (name, found, calls)
        else:  # it lasts for many samples
            assert found[name] <= 1, (name, found, calls)


def test_most_samples_state_it(told: tuple[dict[str, int], dict[str, Any]]) -> None:
    _, profile = told
    assert profile["activations_known"] > 1 - LEARNING
