"""Programs that record themselves: `with sonde.record(...)`, on every interpreter."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from environments import Environment
from launching import TARGETS, TESTS, TIMEOUT_S, clean_environment
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from truth.stacks import Stacks

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

SOURCE = TESTS.parent / "src"


def run_program(environment: Environment, *command: str | Path) -> dict[str, Any]:
    done = subprocess.run(
        [environment.path, *command],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # A program that forks while it has threads is warned by 3.12 and later; nothing else is said.
    assert "Traceback" not in done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="session")
def sessions(
    environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("sessions")
    return run_program(environment, TARGETS / "sessions.py", folder), folder


def time_in(recording: Recording, *names: str) -> dict[str, int]:
    """Milliseconds, roughly: the sampled time within functions of these names."""
    stacks = Stacks(recording)
    found = {}
    for name in names:
        inside = stacks.below(lambda frame, name=name: frame.code.name == name)
        weight = recording.samples.weight[inside[recording.samples.context]]
        found[name] = round(int(weight.sum()) / 10e6) * 10
    return found


def test_each_session_has_what_happened_in_it(sessions: tuple[dict[str, Any], Path]) -> None:
    told, folder = sessions
    names = ("before", "first_work", "between", "second_work")
    first, second = read(folder / "first.sonde"), read(folder / "second.sonde")
    assert time_in(first, *names) == {
        "before": 0, "first_work": 60, "between": 0, "second_work": 0,
    }  # fmt: skip
    assert time_in(second, *names) == {
        "before": 0, "first_work": 0, "between": 0, "second_work": 60,
    }  # fmt: skip
    assert told["first"] == first.quality["taken"] == len(first.samples)
    assert told["first path"] == str(folder / "first.sonde")
    for recording in (first, second):
        assert recording.warnings == []
        assert recording.quality["sampler"] == "perf"
        assert recording.quality["lost"] == 0
        assert len(recording.processes) == 1


def test_nothing_is_sampled_in_a_pause(sessions: tuple[dict[str, Any], Path]) -> None:
    recording = read(sessions[1] / "paused.sonde")
    assert time_in(recording, "first_work", "paused_work", "second_work") == {
        "first_work": 60, "paused_work": 0, "second_work": 60,
    }  # fmt: skip
    assert recording.marks.text == ["begun", "still paused", "ein ünïcode mark \N{SNOWMAN}"]
    times = recording.marks.time.tolist()
    assert times == sorted(times)
    # The second mark lies in the pause: after the first part's samples, before the last part's.
    stacks = Stacks(recording)
    for name, sooner in (("first_work", True), ("second_work", False)):
        inside = stacks.below(lambda frame, name=name: frame.code.name == name)
        part = recording.samples.time[inside[recording.samples.context]]
        assert ((part < times[1]) == sooner).all()
    # The pause (60 ms) counts for no thread: not sampled are the rest of a period before it and at
    # the end, and as much again by which the estimated CPU clock may lag
    # (native/core/sampling/sigtrap.c).
    main = recording.threads.name.index("MainThread")
    weights = recording.samples.weight[recording.samples.thread == main]
    assert recording.threads.cpu_ns[main] <= weights.sum() + 4 * weights.max()


def test_threads_have_their_names(sessions: tuple[dict[str, Any], Path]) -> None:
    recording = read(sessions[1] / "threads.sonde")
    stacks = Stacks(recording)
    inside = stacks.below(lambda frame: frame.code.name == "thread_work")
    weights = dict.fromkeys(recording.threads.name, 0)
    mine = np.flatnonzero(inside[recording.samples.context])
    for row, weight in zip(
        recording.samples.thread[mine].tolist(),
        recording.samples.weight[mine].tolist(),
        strict=True,
    ):
        weights[recording.threads.name[row]] += weight
    found = {name: round(ns / 10e6) * 10 for name, ns in weights.items() if ns}
    assert found in (
        {"older": 50, "yoünger \N{SNOWMAN}": 50, "after": 50},
        # It may have been seen under its first name, and be gone before the session ends.
        {"older": 50, "yoünger \N{SNOWMAN}": 50, "before": 50},
    )


def test_a_fork_within_a_session_is_followed(sessions: tuple[dict[str, Any], Path]) -> None:
    told, folder = sessions
    recording = read(folder / "forked.sonde")
    assert told["child ended"] == 0
    assert told["child"] in [process.pid for process in recording.processes]
    assert time_in(recording, "first_work", "child_work", "second_work") == {
        "first_work": 60, "child_work": 60, "second_work": 60,
    }  # fmt: skip
    assert told["forked"] == recording.quality["taken"] == len(recording.samples)


def test_an_exception_passes_through(sessions: tuple[dict[str, Any], Path]) -> None:
    told, folder = sessions
    assert told["raised"] == "KeyError('mine')"
    assert read(folder / "raised.sonde").warnings == []


def test_what_cannot_be_is_refused_in_a_sentence(sessions: tuple[dict[str, Any], Path]) -> None:
    told, folder = sessions
    assert told["second session"] == "SondeError: this process is already being recorded"
    assert told["started twice"] == "SondeError: this session has already been started"
    assert told["mark after the end"] == "SondeError: this session is not running"
    assert told["pause after the end"] == "SondeError: this session is not running"
    assert told["wrong what"].startswith("UsageError: invalid kind 'dreams'")
    assert "not 0" in told["wrong rate"]
    assert "no/such/folder" in told["no folder"]
    assert "Traceback" not in told["no folder"]
    assert told["after a refusal"] is None
    assert read(folder / "one.sonde").warnings == []
    assert told["left over"] == ["threads.sonde"], "a refused session left a file"


CYCLES = {"3.11": 8, "3.12": 8, "3.13": 8, "3.14": 50, "3.15": 8}


def test_sessions_leave_nothing_behind(environment: Environment, tmp_path: Path) -> None:
    """Many sessions in one process: no descriptor, no mapping, no thread, no process, no memory."""
    cycles = CYCLES[environment.python.version]
    told = run_program(environment, TARGETS / "cycles.py", tmp_path / "cycle.sonde", str(cycles))
    before, after = told["before"], told["after"]
    for exact in ("descriptors", "threads", "children"):
        assert after[exact] == before[exact], exact
    # The allocators may take another arena or two, but nothing grows with every cycle.
    assert after["maps"] <= before["maps"] + 6
    assert after["mapped_kb"] <= before["mapped_kb"] + 4096
    assert after["resident_kb"] <= before["resident_kb"] + 2048


INNER_TEST = """
import time
import sonde

def work():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass

def test_inside(tmp_path):
    with sonde.record(tmp_path / "inside.sonde", rate=2000) as session:
        work()
    flat = sonde.open(tmp_path / "inside.sonde").flat(top=3)
    assert flat.rows[0].function.name in ("work", "time.thread_time")
    assert session.quality["taken"] > 100
    print("inner passed")
"""


def test_recording_within_pytest(tmp_path: Path) -> None:
    """pytest turns faulthandler on, captures output and has threads: none of it is in the way."""
    import sys

    test = tmp_path / "test_inner.py"
    test.write_text(INNER_TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", test],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "inner passed" in done.stdout
    assert "Fatal Python error" not in done.stdout + done.stderr
