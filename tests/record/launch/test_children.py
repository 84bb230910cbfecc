"""Processes a target starts are followed into the same recording, unless told otherwise."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from launching import TARGETS, TIMEOUT_S, Interpreter, Run, must_run, sampled
from matrix import OLDEST_AND_NEWEST
from truth.bounds import unaccounted
from truth.stacks import Stacks

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

KINDS = {
    "root", "fork", "fork of a fork", "fork of a thread", "execv", "execve empty", "execlp",
    "subprocess", "empty environment", "isolated", "without site", "env -i", "sh -c", "shell=True",
    "new session", "posix_spawn", "multiprocessing fork", "multiprocessing spawn",
    "multiprocessing forkserver", "pool",
}  # fmt: skip


@pytest.fixture(scope="session")
def family(python: Interpreter, keep: Keep) -> tuple[Run, list[dict[str, Any]]]:
    path = keep("children")
    notes = path.with_suffix(".notes")
    run = must_run(path, [python.path, TARGETS / "children.py", notes], "--rate", "5000")
    return run, [json.loads(line) for line in notes.read_text().splitlines()]


def test_every_kind_of_child_is_in_the_recording(
    python: Interpreter, family: tuple[Run, list[dict[str, Any]]]
) -> None:
    run, notes = family
    assert {note["kind"] for note in notes} == KINDS
    processes = {process.pid: process for process in run.recording.processes}
    missing = [note["kind"] for note in notes if note["pid"] not in processes]
    assert not missing
    for note in notes:
        process = processes[note["pid"]]
        assert process.version.startswith(python.version + ".")
        assert process.runtime == "cpython"
        assert os.path.realpath(process.executable) == os.path.realpath(python.path)
        assert any("children.py" in word or "multiprocessing" in word for word in process.argv)
    root = next(note["pid"] for note in notes if note["kind"] == "root")
    for note in notes:
        # "sh -c" has a shell between it and its parent, pools and servers may have a process.
        above, steps = processes[note["pid"]], 0
        while above.pid != root and above.ppid in processes and steps < 5:
            above, steps = processes[above.ppid], steps + 1
        if note["kind"] not in ("sh -c", "multiprocessing forkserver"):
            assert above.pid == root, note["kind"]


def test_every_childs_time_is_its_own(family: tuple[Run, list[dict[str, Any]]]) -> None:
    run, notes = family
    recording = run.recording
    stacks = Stacks(recording)
    inside = stacks.below(lambda frame: frame.code.name == "burn")
    beside = stacks.below(lambda frame: frame.code.name in ("timed_burn", "work"))
    pid_of_thread = np.array([recording.processes[p].pid for p in recording.threads.process])
    samples = recording.samples
    for note in notes:
        rows = np.flatnonzero(pid_of_thread[samples.thread] == note["pid"])
        in_burn = inside[samples.context[rows]]
        # Only the thread that burned: the main one, or the one a fork was made in.
        threads = set(samples.thread[rows][in_burn].tolist())
        assert len(threads) == 1, note["kind"]
        rows = rows[samples.thread[rows] == threads.pop()]
        contexts = samples.context[rows]
        wrong = unaccounted(recording, rows, inside[contexts], beside[contexts], note["spent"])
        assert not wrong, f"{note['kind']}: {wrong}"


def test_nothing_is_lost_on_the_way(family: tuple[Run, list[dict[str, Any]]]) -> None:
    quality = family[0].recording.quality
    assert quality["sampler"] == "perf"
    assert quality["lost"] == quality["events_lost"] == 0
    assert quality["taken"] == sampled(family[0].recording)
    assert quality["undecodable"] <= 0.005 * quality["taken"]


def test_no_children(any_python: Interpreter, keep: Keep) -> None:
    path = keep("no-children")
    notes = path.with_suffix(".notes")
    run = must_run(path, [any_python.path, TARGETS / "children.py", notes], "--no-children")
    told = [json.loads(line) for line in notes.read_text().splitlines()]
    assert {note["kind"] for note in told} == KINDS
    root = next(note["pid"] for note in told if note["kind"] == "root")
    assert [process.pid for process in run.recording.processes] == [root]


def test_a_program_that_becomes_another(python: Interpreter, keep: Keep) -> None:
    run = must_run(keep("execs"), [python.path, TARGETS / "execs_itself.py", "1"], "--rate", "5000")
    pid = int(run.out.split()[1])
    recording = run.recording
    assert [process.pid for process in recording.processes] == [pid] * 3
    assert [process.argv[-1] for process in recording.processes] == ["1", "2", "3"]
    stacks = Stacks(recording)
    for index, name in enumerate(("first", "second", "third")):
        within = stacks.below(lambda frame, name=name: frame.code.name == name)
        mine = within[recording.samples.context]
        rows = recording.threads.process[recording.samples.thread[mine]]
        assert set(rows.tolist()) == {index}
        assert recording.samples.weight[mine].sum() > 50_000_000


def test_a_shell_is_no_obstacle(python: Interpreter, keep: Keep) -> None:
    script = f'cd / && "{python.path}" -c "sum(range(3_000_000))" && echo "$0 ends"'
    run = must_run(keep("shell"), ["sh", "-c", script, "it"])
    assert run.out == "it ends\n"
    assert len(run.recording.processes) == 1
    assert run.recording.quality["taken"] > 10


def test_a_child_that_outlives_its_parent_lives_on(
    python: Interpreter, keep: Keep, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    must_run(keep("orphan"), [python.path, TARGETS / "orphan.py", sign], "--rate", "10000")
    end = time.monotonic() + TIMEOUT_S
    while not sign.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert sign.exists(), "the child was killed when the recording ended"
