"""What cannot be recorded is refused in one sentence, with the right code and no traceback."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launching import (
    SONDE,
    TARGETS,
    Interpreter,
    clean_environment,
    must_run,
    run_command,
    sonde,
)
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

USAGE, FAILURE, NOT_EXECUTABLE, NOT_FOUND = 2, 1, 126, 127


def refused(code: int, *arguments: str | os.PathLike[str], cwd: Path | None = None) -> str:
    """The one sentence on stderr; nothing on stdout."""
    done = sonde("run", *arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sonde: ")
    return lines[0].removeprefix("sonde: ")


def test_wrong_calls(tmp_path: Path) -> None:
    there = ("-o", tmp_path / "x.sonde")
    assert "nothing to run" in refused(USAGE)
    assert "nothing to run" in refused(USAGE, *there, "--")
    assert "dreams" in refused(USAGE, "--what", "dreams", *there, "--", "true")
    assert "empty" in refused(USAGE, "--what", ",", *there, "--", "true")
    assert "mixes" in refused(USAGE, "--what", "cpu,+waits", *there, "--", "true")
    assert "not in the list" in refused(USAGE, "--what", "-waits", *there, "--", "true")
    assert "percentage" in refused(USAGE, "--budget", "0.01", *there, "--", "true")
    assert "not 0" in refused(USAGE, "--rate", "0", *there, "--", "true")
    assert "not -5" in refused(USAGE, "--rate", "-5", *there, "--", "true")
    assert "1000000" in refused(USAGE, "--rate", "1000000", *there, "--", "true")
    assert "often" in refused(USAGE, "--rate", "often", *there, "--", "true")
    assert "luck" in refused(USAGE, "--sampler", "luck", *there, "--", "true")
    assert "--no-such" in refused(USAGE, "--no-such", *there, "--", "true")
    assert list(tmp_path.iterdir()) == []


def test_programs_that_cannot_be_run(tmp_path: Path) -> None:
    there = ("-o", tmp_path / "x.sonde", "--")
    assert "no-such-program" in refused(NOT_FOUND, *there, "no-such-program")
    assert "no script" in refused(NOT_FOUND, *there, "no-such-script.py")
    plain = tmp_path / "plain"
    plain.write_text("not a program\n")
    assert "plain" in refused(NOT_EXECUTABLE, *there, plain)
    plain.chmod(0o755)
    assert "plain" in refused(NOT_EXECUTABLE, *there, plain)
    assert str(tmp_path) in refused(NOT_EXECUTABLE, *there, tmp_path)


def test_places_that_cannot_be_written(any_python: Interpreter, tmp_path: Path) -> None:
    """Nothing is run where it could not be recorded."""
    sign = tmp_path / "sign"
    command = ("--", any_python.path, "-c", f"open({str(sign)!r}, 'w')")
    assert str(tmp_path) in refused(FAILURE, "-o", tmp_path, *command)
    missing = tmp_path / "no" / "folder" / "x.sonde"
    assert str(missing) in refused(FAILURE, "-o", missing, *command)
    assert "/proc/x.sonde" in refused(FAILURE, "-o", "/proc/x.sonde", *command)
    assert not sign.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_elses(any_python: Interpreter, tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    said = refused(FAILURE, "-o", tmp_path / "x.sonde", "--", any_python.path, "-c", "")
    assert "x.sonde" in said


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "sonde-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk small enough to fill")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(any_python: Interpreter, small_disk: Path) -> None:
    calls = TARGETS.parent / "truth" / "programs" / "calls.py"
    path = small_disk / "x.sonde"
    run = run_command(path, [any_python.path, calls, "1.5"], "--rate", "20000")
    # The target does not suffer, what was written is not lost, and what was not is counted.
    assert run.code == 0
    assert run.told["parts"]
    assert "could not be written" in run.err
    assert path in [Path(word.rstrip(".;")).resolve() for word in run.err.split()]
    assert "Traceback" not in run.err
    recording = read(path)
    assert len(recording.samples) > 1000
    assert recording.warnings
    # The recording itself says what it lost, as the command does.
    assert f"{recording.quality['lost']:,} lost" in run.err
    assert recording.quality["lost"] > 1000
    assert recording.quality["taken"] < 1.1 * len(recording.samples)


def test_a_program_without_python_says_so(keep: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "x.sonde"
    run = run_command(path, ["sh", "-c", "echo shell; exit 4"])
    assert (run.code, run.out) == (4, "shell\n")
    assert "neither CPython" in run.err


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("ulimit -f 200", "file too large"),
        ("ulimit -v 1000000", "cannot allocate memory"),
    ],
)
def test_limits_that_leave_no_room(
    any_python: Interpreter, tmp_path: Path, limit: str, reason: str
) -> None:
    """The program runs as ever, and what was in the way is named."""
    path = tmp_path / "x.sonde"
    program = [any_python.path, "-c", "print(sum(range(3_000_000))); raise SystemExit(3)"]
    command = [*SONDE, "run", "-o", path, "--", *program]
    done = subprocess.run(
        ["sh", "-c", f'{limit}; exec "$@"', "sh", *command],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "4499998500000\n")
    assert len(done.stderr.splitlines()) == 1
    assert f"has no samples: recording failed: {reason}" in done.stderr


def test_an_old_recording_is_replaced(any_python: Interpreter, tmp_path: Path) -> None:
    path = tmp_path / "x.sonde"
    path.write_bytes(b"something else" * 100_000)
    run = must_run(path, [any_python.path, "-c", "sum(range(3_000_000))"], "--force")
    assert run.recording.warnings == []
