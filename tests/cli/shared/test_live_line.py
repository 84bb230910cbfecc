"""The line that shows how far a recording is, and when there must be none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attaching import Target
from launching import SONDE, TARGETS, Interpreter, clean_environment
from sonde.cli.shared.live_line import words_of
from sonde.record.system.procfs import descendants
from sonde.record.targets.process import has_agent
from terminals import CTRL_C, Terminal

STATE = " thread"
WRITES = """
import sys, time
from sonde.cli.shared.live_line import LiveLine, may_write_here
print(may_write_here(int(sys.argv[1])), flush=True)
"""


def test_it_shows_how_far_a_recording_is(any_python: Interpreter, tmp_path: Path) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        terminal = Terminal(
            [*SONDE, "attach", str(target.pid), "-o", "x.sonde"],
            env=clean_environment(),
            cwd=tmp_path,
        )
        terminal.until(STATE)
        state = terminal.screen()[-1]
        assert state.startswith("sonde: ")
        assert " samples, " in state
        assert state.endswith("press Ctrl-C to stop")
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        screen = terminal.screen()
        # Nothing is left of it: what follows begins in its place.
        assert [line for line in screen if "B; " in line or "^C" in line] == []
        assert screen[0].endswith("press Ctrl-C to stop")
        assert screen[1].startswith("sonde: top function: ")
        assert "read it with: sonde report x.sonde" in screen[-1]
        assert not has_agent(target.pid)


def test_a_program_with_the_same_terminal_has_it_alone(tmp_path: Path) -> None:
    program = "import sys, time\nfor n in range(25):\n    print(n, end=' ', flush=True)\n"
    program += "    end = time.time() + 0.1\n    while time.time() < end: pass\nprint()"
    terminal = Terminal(
        [*SONDE, "run", "-o", "x.sonde", "-c", program], env=clean_environment(), cwd=tmp_path
    )
    assert terminal.ended() == 0
    screen = terminal.screen()
    assert screen[0] == " ".join(map(str, range(25)))
    assert b"\x1b" not in terminal.output
    words = ("top function", "top blocker", "quality", "recorded")
    for line, word in zip(screen[1:5], words, strict=True):
        assert line.startswith(f"sonde: {word}")


def test_a_program_whose_output_goes_elsewhere(tmp_path: Path) -> None:
    busy = "import time; e = time.time() + 3\nwhile time.time() < e: pass"
    shell = f"exec {sys.executable} -c '{busy}' </dev/null >out 2>&1"
    terminal = Terminal(
        [*SONDE, "run", "-o", "x.sonde", "--", "sh", "-c", shell],
        env=clean_environment(),
        cwd=tmp_path,
    )
    assert terminal.ended() == 0
    assert b"; ends with the program" in terminal.output
    assert "ends with the program" not in "\n".join(terminal.screen())


def test_a_ctrl_c_is_the_programs_and_the_result_follows(tmp_path: Path) -> None:
    program = (
        "import time\ntry:\n    print('be'+'gun', flush=True)\n"
        "    while True: sum(range(1000))\n"
        "except KeyboardInterrupt:\n    print('its own', 'end'); raise SystemExit(7)"
    )
    terminal = Terminal(
        [*SONDE, "run", "-o", "x.sonde", "-c", program], env=clean_environment(), cwd=tmp_path
    )
    terminal.until("begun")
    terminal.type(CTRL_C)
    assert terminal.ended() == 7
    screen = terminal.screen()
    assert screen[1] == "^Cits own end"
    assert screen[2].startswith("sonde: top function: ")
    assert "read it with: sonde report x.sonde" in screen[-1]


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_wipe_a_line(
    any_python: Interpreter, tmp_path: Path, term: str
) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        terminal = Terminal(
            [*SONDE, "attach", str(target.pid), "-o", "x.sonde", "--for", "2s"],
            env=clean_environment() | {"TERM": term},
            cwd=tmp_path,
        )
        assert terminal.ended() == 0
    assert b"\r\x1b" not in terminal.output
    assert b"top function" in terminal.output


def test_none_in_a_pipe(any_python: Interpreter, tmp_path: Path) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        done = subprocess.run(
            [*SONDE, "attach", str(target.pid), "-o", tmp_path / "x.sonde", "--for", "1500ms"],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("redirected", "may"),
    [("</dev/null >/dev/null 2>&1", False), (">/dev/null 2>&1", False), (">/dev/null", True)],
)
def test_who_may_write_to_the_terminal(tmp_path: Path, redirected: str, may: bool) -> None:
    script = (
        f"{sys.executable} -c 'import time; time.sleep(60)' {redirected} & "
        f"{sys.executable} -c '{WRITES}' $!; kill $!"
    )
    environment = clean_environment() | {"PYTHONPATH": os.pathsep.join(sys.path)}
    terminal = Terminal(["sh", "-c", script], env=environment, cwd=tmp_path)
    assert terminal.ended() in (0, -signal.SIGHUP)
    assert str(may) in terminal.screen()


def test_a_message_does_not_stay_behind_the_line(any_python: Interpreter, tmp_path: Path) -> None:
    """A recorder that is killed is replaced, which attach reports."""
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        terminal = Terminal(
            [*SONDE, "attach", str(target.pid), "-o", "x.sonde"],
            env=clean_environment(),
            cwd=tmp_path,
            columns=300,
        )
        terminal.until(STATE)
        for child in descendants(terminal.process.pid):
            if b"sonde.record.recorder.main" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, signal.SIGKILL)
        terminal.until("another recorder continues")
        terminal.until(STATE, anew=True)
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
    (said,) = [line for line in terminal.screen() if "another recorder continues" in line]
    assert said.startswith("sonde: the recorder was killed by signal 9; ")
    assert said.endswith("another recorder continues")


def test_words() -> None:
    status = {
        "processes": [os.getpid(), os.getpid()],
        "duration_ns": 12_400_000_000,
        "quality": {"taken": 1},
        "size": 2_500_000,
        "state": "paused",
    }
    said = words_of(status).split(", ")
    assert (said[0], said[1], said[3:]) == ("12 s", "1 sample", ["2 processes", "2.5 MB", "paused"])
