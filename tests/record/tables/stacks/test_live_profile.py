"""The profile that a session keeps while it runs: asked from inside, from outside, afterwards."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from environments import Environment
from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from record.launch.test_session import SOURCE
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]


@pytest.fixture(scope="module")
def told(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = subprocess.run(
        [environment.path, TARGETS / "online.py", tmp_path_factory.mktemp("online")],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["stderr"] = done.stderr
    return answer


def test_what_is_hot_is_told_with_its_callers(told: dict[str, Any]) -> None:
    assert told["before purge"][0][:3] == ["<module>", "first_work", "burn"]
    assert 0.9 < told["share"] <= 1.0 + 1e-9
    # A burn of 60 ms, longer where the clock leaps; counted twice it would be too long.
    assert 50 < told["total_ms"] < told["used_ms"] + 40
    assert 0 < told["memory"][0] <= told["memory"][1] == 64 << 10


def test_purged_it_begins_anew(told: dict[str, Any]) -> None:
    assert told["after purge"][0][:3] == ["<module>", "second_work", "burn"]
    assert not any("first_work" in chain for chain in told["after purge"])
    lines = told["chain lines"]
    assert lines[0] > lines[1] > 1  # where the next one is called


def test_wrong_questions_are_answered_in_a_sentence(told: dict[str, Any]) -> None:
    assert told["top"] == "UsageError: invalid number of rows 0; give 1 to 100"
    assert told["by"] == "UsageError: invalid profile 'line'; valid profiles: context, function"
    assert told["every"] == "UsageError: invalid interval 0; give a number of seconds above 0"
    assert told["over"] == "SondeError: this session is not running"
    assert told["none"].startswith("SondeError: this session has no profile in memory")
    assert told["small"] == "UsageError: online needs a size of at least 16KiB"


def test_a_program_is_called_back(told: dict[str, Any]) -> None:
    assert told["seen"] >= 4
    assert told["each is its own"]
    assert told["burn seen"]
    assert told["threads left"] == 1
    assert told["stderr"].count("ZeroDivisionError") == 1


def test_a_forked_child_has_no_part_in_it(told: dict[str, Any]) -> None:
    assert told["child"].startswith("SondeError: this session belongs to the parent process")
    assert told["parent"]


CALLED_BY_C = """
import sys, time
import sonde
found = set()
def called(_):
    end = time.thread_time() + 0.01
    while time.thread_time() < end: pass
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    found.add(" ".join(names))
def calls():
    for _ in range(20): list(map(called, (1,)))
with sonde.record(sys.argv[1], rate=5000, online=True) as session:
    calls()
assert session.quality["taken"] > 100
print(found)
"""


def test_a_program_finds_its_own_frames_only(environment: Environment, tmp_path: Path) -> None:
    """Those that stand for entries from C are marked, and are no less invisible for that."""
    done = subprocess.run(
        [environment.path, "-c", CALLED_BY_C, tmp_path / "called.sonde"],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "{'called calls <module>'}\n")


def test_marks_do_no_harm(python: Interpreter, keep: Keep) -> None:
    command = [python.path, str(TARGETS / "unharmed.py"), "400"]
    alone = subprocess.run(
        command, capture_output=True, text=True, env=clean_environment(), check=True
    ).stdout
    path = keep("unharmed")
    run = must_run(path, [*command, "1.0"], "--rate", "20000", "--mode", "wrap", "--what", "cpu")
    assert set(run.out.splitlines()) == {alone.strip()}
    quality = json.loads(sonde("report", path, "quality", "--json").stdout)
    assert quality["taken"] > 2000
    assert quality["faults"] == 0
    assert quality["online"]["activations"] == "marked"


def test_a_flight_recorder_knows_the_whole_session(any_python: Interpreter, keep: Keep) -> None:
    path = keep("flown")
    code = """
import time
def early():
    end = time.thread_time() + 0.8
    while time.thread_time() < end: pass
def late():
    end = time.thread_time() + 0.4
    while time.thread_time() < end: pass
early(); time.sleep(0.6); late()
"""
    must_run(path, [any_python.path, "-c", code], "--mode", "wrap", "--seconds", "0.4")
    flat = json.loads(sonde("report", path, "flat", "--json").stdout)
    assert "early" not in {row["name"] for row in flat["rows"]}
    hot = json.loads(sonde("report", path, "hot", "--json").stdout)
    found = {row["chain"][-1]["name"]: row for row in hot["rows"]}
    assert 0.6e9 < found["early"]["total"] < 1.2e9
    assert 0.3e9 < found["late"]["total"] < 0.6e9
    assert found["early"]["activations"] == found["late"]["activations"] == 1
    assert hot["memory"] <= hot["bound"] == 256 << 10
    text = sonde("report", path, "hot").stdout
    assert "early" in text
    assert "new call edges" in text


# Ever new chains of calls: where each turn goes is drawn anew.
WANDERS = """
import random, time
draw = random.Random(1).random
def left(n):
    return 0 if not n else left(n - 1) if draw() < 0.5 else right(n - 1)
def right(n):
    return 0 if not n else left(n - 1) if draw() < 0.5 else right(n - 1)
end = time.thread_time() + 4.0
while time.thread_time() < end:
    left(120)
"""


@pytest.mark.soak
def test_a_session_that_is_left_on_bounds_its_memory(any_python: Interpreter, keep: Keep) -> None:
    """A flight recorder here; one with a budget would lower its rate on a busy machine."""
    path = keep("wanders")
    command = [any_python.path, "-c", WANDERS]
    # A part ends after a second, however few samples a recorder without a processor has drained.
    options = ("--mode", "wrap", "--seconds", "4", "--rate", "20000", "--what", "cpu")
    must_run(path, command, *options)
    recording = read(path)
    assert recording.warnings == []
    assert recording.target["parts"] > 1
    assert recording.quality["online"]["memory"] <= 256 << 10
    assert recording.quality["online"]["dropped"] > 1000


def test_a_recording_without_one_says_so(any_python: Interpreter, keep: Keep) -> None:
    path = keep("plain")
    must_run(path, [any_python.path, "-c", "sum(range(3_000_000))"])
    assert "kept no profile" in sonde("report", path, "hot").stdout
    assert json.loads(sonde("report", path, "hot", "--json").stdout)["rows"] == []
    refused = sonde("report", path, "hot", "--thread", "MainThread")
    assert refused.returncode == 2
    assert "leave out the options that select" in refused.stderr
