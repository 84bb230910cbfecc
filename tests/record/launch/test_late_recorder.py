"""A recorder that is late, or stands still, keeps no program from running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, begun, has_agent, recorder_of, until
from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, clean_environment
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from truth.stacks import Stacks

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

WORKS = """
import sys, time
print("runs", flush=True)
def works():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
works()
print("worked", flush=True)
sys.stdin.readline()
"""


def start(path: Path, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SONDE, "run", "-o", str(path), "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def stands_still(pid: int) -> bool:
    return "State:\tT" in Path(f"/proc/{pid}/status").read_text()


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
        assert stands_still(pid), "something else let it go on"
    finally:
        os.kill(pid, signal.SIGCONT)


def recorder_appears(process: subprocess.Popen[str]) -> int:
    def find() -> int | None:
        with contextlib.suppress(AssertionError, OSError):
            return recorder_of(process)
        return None

    while process.poll() is None:  # without a pause: it is to be stopped before it is up
        if pid := find():
            return pid
    raise AssertionError(process.communicate()[1])


def test_a_program_runs_before_its_recorder_does(python: Interpreter, keep: Keep) -> None:
    path = keep("late")
    with start(path, python.path, "-c", WORKS) as process:
        with stopped(recorder_appears(process)):
            assert (line_of(process), line_of(process)) == ("runs", "worked")
        _, err = process.communicate("\n", timeout=TIMEOUT_S)
        assert (process.returncode, "recorded" in err) == (0, True), err
    recording = read(path)
    assert recording.warnings == []
    assert len(recording.processes) == 1
    assert recording.quality["lost"] == 0
    working = Stacks(recording).below(lambda frame: frame.code.name == "works")
    inside = working[recording.samples.context]
    assert recording.samples.weight[inside].sum() > 150_000_000


def test_a_program_may_be_over_before_its_recorder_is_up(
    any_python: Interpreter, keep: Keep
) -> None:
    path = keep("over")
    program = "print('runs'); sum(range(5_000_000)); raise SystemExit(3)"
    with start(path, any_python.path, "-c", program) as process:
        recorder = recorder_appears(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        with stopped(recorder):
            assert line_of(process) == "runs"
            until(lambda: children.read_text().split() == [str(recorder)], "its end", process)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 3, err
    recording = read(path)
    assert len(recording.processes) == 1
    assert len(recording.samples)


def forked(process: subprocess.Popen[str], text: str) -> dict[str, Any]:
    say(process, text)
    told: dict[str, Any] = json.loads(line_of(process))
    return told


def test_forks_do_not_wait_for_the_recorder(python: Interpreter, keep: Keep) -> None:
    path = keep("stopped")
    with start(path, python.path, str(TARGETS / "forks_often.py")) as process:
        root = int(line_of(process))
        with stopped(recorder_of(process)):
            told = forked(process, "20\n")
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
    recording = read(path)
    assert {row.pid for row in recording.processes} == {root, *told["children"]}
    assert told["warned"] == []


def test_no_short_child_is_missing(python: Interpreter, keep: Keep) -> None:
    path = keep("short")
    with start(path, python.path, str(TARGETS / "forks_often.py")) as process:
        root = int(line_of(process))
        children = forked(process, "150\n")["children"]
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
    recording = read(path)
    rows = [row for row in recording.processes if row.pid != root]
    assert sorted(row.pid for row in rows) == sorted(children)
    assert {row.ppid for row in rows} == {root}
    assert all(row.argv and row.executable for row in rows)
    assert "unjoined_processes" not in recording.quality


def test_forks_of_an_attached_program_do_not_wait(python: Interpreter, keep: Keep) -> None:
    path = keep("attached")
    with Target(python, TARGETS / "forks_often.py") as target:
        process = attach(target.pid, path, "--what", "cpu,waits,locks")
        until(lambda: has_agent(target.pid), "the agent", process)
        forked(target.process, "2\n")
        until(lambda: begun(path), "samples", process)
        with stopped(recorder_of(process)):
            told = forked(target.process, "10\n")
        assert target.end()[0] == 0
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
    assert {row.pid for row in read(path).processes} >= {target.pid, *told["children"]}


def test_no_fork_warns_while_agents_come_and_go(python: Interpreter, keep: Keep) -> None:
    """From 3.12 on os.fork() warns if the process has several threads: the program has not."""
    with Target(python, TARGETS / "forks_often.py") as target:
        say(target.process, "\n")
        assert line_of(target.process) == "forks"
        for what in ("cpu,locks", "cpu,waits,locks"):
            process = attach(target.pid, keep(f"warns-{what}"), "--what", what)
            until(lambda: has_agent(target.pid), "the agent", process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT_S)
            until(lambda: not has_agent(target.pid), "its end")
        told = forked(target.process, "\n")
        assert len(told["children"]) > 10
        assert told["warned"] == []
        assert target.end()[0] == 0


def test_every_way_to_fork_under_attach(python: Interpreter, keep: Keep) -> None:
    """No warning that would not come without sonde, and each child is recorded."""
    ways = ("forkpty", "fork", "forkserver", "spawn", "subprocess")
    path = keep("ways")
    with Target(python, TARGETS / "forks_by.py") as target:
        process = attach(target.pid, path, "--what", "cpu,waits,locks")
        until(lambda: has_agent(target.pid), "the agent", process)
        # Its thread is there a moment before it has its hooks.
        until(lambda: not forked(target.process, "fork\n")["warned"], "no warning", process)
        told = {way: forked(target.process, f"{way}\n") for way in ways}
        code, _, err = target.end()
        assert (code, err) == (0, "")
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
    assert {way: answer["warned"] for way, answer in told.items()} == {way: [] for way in ways}
    recording = read(path)
    recorded = {row.pid for row in recording.processes}
    missing = {way for way, answer in told.items() if answer["child"] not in recorded}
    assert not missing
