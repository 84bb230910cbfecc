"""A heap snapshot harms no program: nothing of it is seen there, and nothing remains."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, begun, has_agent, until
from heap.capturing import snapshot
from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, clean_environment
from matrix import OLDEST_AND_NEWEST
from sonde.errors import SondeError
from sonde.heap import snapshot_file
from sonde.record import heap_walk

PROGRAM = TARGETS / "heap_unharmed.py"


def say(target: Target, words: str) -> None:
    assert target.process.stdin is not None
    target.process.stdin.write(f"{words}\n")
    target.process.stdin.flush()


def ask(target: Target, words: str) -> Any:
    say(target, words)
    assert target.process.stdout is not None
    return json.loads(target.process.stdout.readline())


def children(pid: int) -> set[str]:
    return {
        child
        for task in os.listdir(f"/proc/{pid}/task")
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    }


def compare(target: Target, tmp_path: Path, count: int) -> None:
    before, own = ask(target, "state"), children(target.pid)
    for _ in range(count):
        heap = snapshot(target, tmp_path / "heap.sonde")
        assert len(heap) > 5000
    after = ask(target, "state")
    assert children(target.pid) == own
    for key in before.keys() - {"worked", "forks"}:
        assert after[key] == before[key], key
    assert after["worked"] > before["worked"] or not before["worked"]
    code, out, err = target.end()
    assert (code, out, err) == (7, "over\n", "")


def test_a_program_sees_nothing_of_it(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM) as target:
        compare(target, tmp_path, 5)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_busy_server_goes_on(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM, "server") as target:
        compare(target, tmp_path, 4)


@pytest.mark.soak
def test_a_busy_server_goes_on_for_long(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM, "server") as target:
        compare(target, tmp_path, 300)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_forked_children_inherit_nothing(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM, "forks", options=("-W", "ignore")) as target:
        for _ in range(8):
            snapshot(target, tmp_path / "heap.sonde")
        after = ask(target, "state")
        assert after["inherited"] == []
        assert after["forks"] > 0


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_it_waits_for_a_collection(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM) as target:
        say(target, "collect")
        assert target.process.stdout is not None
        assert target.process.stdout.readline() == "collecting\n"
        heap = snapshot(target, tmp_path / "heap.sonde")
        assert len(heap) > 5000
        assert target.process.stdout.readline() == "null\n"


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize(("function", "what"), [("pause", "hung"), ("abort", "crashed")])
def test_a_type_that_cannot_be_walked_is_named(
    python: Interpreter,
    function: str,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heap_walk, "STUCK_S", 0.5)
    with Target(python, PROGRAM) as target:
        own = children(target.pid)
        ask(target, f"spoil {function}")
        with pytest.raises(SondeError, match=f"{what} at an object of type Hung"):
            snapshot(target, tmp_path / "heap.sonde")
        assert children(target.pid) == own
        assert ask(target, "mend") is None
        assert len(snapshot(target, tmp_path / "heap.sonde")) > 5000


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_sub_interpreters(python: Interpreter, tmp_path: Path) -> None:
    """One with a GIL of its own goes on meanwhile: it is left out, and sonde says so."""
    with Target(python, TARGETS / "heap_interpreters.py", options=("-W", "ignore")) as target:
        for _ in range(3):
            heap = snapshot(target, tmp_path / "heap.sonde")
        names = [type_.name for type_ in heap.types]
        assert (heap.type == names.index("__main__.InShared")).sum() == 7
        own_gil = python.minor >= 12
        assert [warning[:17] for warning in heap.warnings] == ["1 sub-interpreter"] * own_gil
        assert target.alive


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("way", ["alone", "recorded"])
def test_the_commands(python: Interpreter, way: str, tmp_path: Path) -> None:
    with Target(python, PROGRAM, "server") as target:
        before = ask(target, "state")
        recorded = tmp_path / "recorded.sonde"
        recording = attach(target.pid, recorded) if way == "recorded" else None
        if recording is not None:
            until(lambda: begun(recorded), "samples", recording)
        words = ("heap", "-o") if way == "alone" else ("ctl", "heap")
        command = [*SONDE, words[0], str(target.pid), words[1], str(tmp_path / "heap.sonde")]
        taken = subprocess.run(
            command, capture_output=True, text=True, env=clean_environment(), check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        assert taken.returncode == 0, taken.stderr
        if recording is not None:
            recording.send_signal(signal.SIGINT)
            assert recording.wait(TIMEOUT_S) == 0
            recording.communicate()
        assert len(snapshot_file.read(str(tmp_path / "heap.sonde"))) > 5000
        until(lambda: not has_agent(target.pid), "the agent leaves")
        after = ask(target, "state")
        # A recording leaves the handler of SIGTRAP.
        for key in before.keys() - {"worked", "forks", "handlers"}:
            assert after[key] == before[key], key


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_nothing_remains_when_sonde_is_killed(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, PROGRAM) as target:
        own = children(target.pid)
        ask(target, "spoil pause")
        with subprocess.Popen(
            [*SONDE, "heap", str(target.pid), "-o", str(tmp_path / "heap.sonde")],
            stderr=subprocess.DEVNULL,
            env=clean_environment(),
        ) as command:
            until(lambda: children(target.pid) > own, "the copy walks", command)
            command.kill()
        until(lambda: children(target.pid) == own, "the copy ends")
        until(lambda: not has_agent(target.pid), "the agent leaves")
        assert ask(target, "mend") is None
        assert len(snapshot(target, tmp_path / "heap.sonde")) > 5000
