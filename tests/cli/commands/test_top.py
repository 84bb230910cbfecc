"""`sonde top` from the command line: one picture, wrong calls, a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attaching import Target, attach, begun, has_agent, until
from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, clean_environment, sonde
from matrix import OLDEST_AND_NEWEST


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_one_picture_as_json(python: Interpreter) -> None:
    with Target(python, TARGETS / "attached.py", "0") as target:
        done = sonde("top", str(target.pid), "--json", "--rate", "1000")
        assert done.returncode == 0, done.stderr
        assert not has_agent(target.pid)
        assert target.alive
    told = json.loads(done.stdout)
    assert told["process"] == target.pid
    assert told["to_ns"] - told["from_ns"] == 2 * 10**9
    rows = {row["name"]: row for row in told["flat"]["rows"]}
    assert rows["long_part"]["self"] > rows["short_part"]["self"] > 0
    threads = {row["name"]: row for row in told["threads"]["rows"] + told["threads"]["idle"]}
    states = {name: row["state"] for name, row in threads.items()}
    assert states["MainThread"] == "I/O"
    assert states["dozer"] in ("sleep", "running", "gil")
    assert states["worker"] in ("running", "sleep", "gil")
    locks = [row for row in told["locks"]["rows"] if row["kind"] == "lock"]
    assert any(
        frame["name"].startswith("Held.hold") for row in locks for frame in row["owner_chain"] or []
    )
    assert told["quality"]["lost"] == 0
    assert told["quality"]["taken"] > 100
    assert told["ended"] is None


def test_one_picture_of_what_is_recorded_already(any_python: Interpreter, tmp_path: Path) -> None:
    path = tmp_path / "x.sonde"
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        recorder = attach(target.pid, path)
        until(lambda: begun(path), "samples", recorder)
        done = sonde("top", str(target.pid), "--once")
        assert done.returncode == 0, done.stderr
        for word in ("Functions", "Threads", "Locks", "long_part", "worker", "GIL", "cores"):
            assert word in done.stdout
        assert recorder.poll() is None
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(TIMEOUT_S) == 0


def test_a_target_that_dies_meanwhile(any_python: Interpreter) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        process = subprocess.Popen(
            [*SONDE, "top", str(target.pid), "--once", "--window", "60"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        until(lambda: has_agent(target.pid), "the agent is in", process)
        time.sleep(0.5)
        target.process.kill()
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    assert f"process {target.pid} has exited" in out
    assert "long_part" in out


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["4194305", "--once"], 1, "no process 4194305"),
        (["abc"], 2, "invalid PID 'abc'"),
        (["0"], 2, "invalid PID '0'"),
        (["1", "--rate", "0"], 2, "--rate must be between"),
        (["1", "--what", "everything"], 2, "invalid kind 'everything'"),
        (["1", "--window", "200ms"], 2, "invalid --window '200ms'; give 1 to 120 seconds"),
        (["1", "--window", "0"], 2, "invalid --window '0'; give a time above 0"),
        (["1"], 1, "sonde top needs a terminal"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, sentence: str) -> None:
    done = sonde("top", *arguments)
    assert done.returncode == code
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_what_is_no_python(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        done = sonde("top", str(other.pid), "--once")
        other.kill()
    assert done.returncode == 1
    assert "is not CPython 3.11 to 3.15" in done.stderr


@pytest.mark.parametrize("end", ["q", "ctrl-c", "SIGTERM"])
def test_in_a_terminal(any_python: Interpreter, end: str, tmp_path: Path) -> None:
    """It shows, leaves at a key or a signal, detaches, and gives the terminal back."""
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        ours, its = pty.openpty()
        process = subprocess.Popen(
            [*SONDE, "top", str(target.pid)],
            stdin=its,
            stdout=its,
            stderr=its,
            env=clean_environment(TERM="xterm", COLUMNS="80", LINES="24", TMPDIR=str(tmp_path)),
            start_new_session=True,
        )
        os.close(its)
        shown = b""

        def reads(text: bytes) -> bool:
            nonlocal shown
            if select.select([ours], [], [], 0)[0]:
                try:
                    shown += os.read(ours, 1 << 16)
                except OSError:  # nobody has the other end any more
                    return True
            return text in shown

        until(lambda: reads(b"long_part"), "the picture")
        if end == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        else:
            os.write(ours, b"q" if end == "q" else b"\x03")
        until(lambda: reads(b"never comes") or process.poll() is not None, "the end")
        assert process.wait(TIMEOUT_S) == 0
        until(lambda: reads(b"\x1b[?1049l") or not shown, "the terminal is given back")
        os.close(ours)
        assert not has_agent(target.pid)
        assert target.alive
        assert list(tmp_path.glob("sonde-*")) == []


def test_nobody_else_pays_for_the_terminal_library() -> None:
    question = """
import sys
import sonde, sonde.cli.main, sonde.cli.commands.report, sonde.cli.commands.run
import sonde.cli.commands.attach, sonde.cli.commands.top
import sonde.record.recorder.main, sonde.record.attach
import sonde.reports.summary, sonde.reports.live.process
import sonde.top.watched, sonde.top.states
sys.exit(any(name.partition(".")[0] == "textual" for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", question], check=False).returncode == 0


def test_a_process_that_is_not_there_is_named_first() -> None:
    done = sonde("top", "999999999")
    assert done.returncode == 1
    assert done.stderr == "sonde: no process 999999999\n"
