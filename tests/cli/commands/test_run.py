"""`sonde run`: what it runs, where it writes, and what it shows when the program has ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from attaching import until
from launching import SONDE, clean_environment, sonde
from sonde.cli.commands.run import follow_up
from sonde.cli.shared.recording_options import RecordingOptions
from sonde.recording.reader import read

SPIN = """
import sys, time
def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
spin()
print("done", *sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(SPIN)
    return tmp_path


def own_names(folder: Path) -> set[str]:
    (path,) = folder.glob("*.sonde")
    done = sonde("report", path, "flat", "--mine", "--json")
    return {row["name"] for row in json.loads(done.stdout)["rows"]}


def test_code_on_the_command_line(folder: Path) -> None:
    done = sonde("run", "-r", "500", "-c", SPIN, "--rate", "word", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "done --rate word\n")
    assert [path.name[:13] for path in folder.glob("*.sonde")] == ["sonde-inline-"]
    assert "spin" in own_names(folder)


def test_a_program_on_stdin(folder: Path) -> None:
    done = sonde("run", "-", "a", cwd=folder, text=SPIN)
    assert (done.returncode, done.stdout) == (0, "done a\n")
    assert [path.name[:12] for path in folder.glob("*.sonde")] == ["sonde-stdin-"]
    assert "spin" in own_names(folder)


def test_a_recording_is_named_after_what_an_interpreter_runs(folder: Path) -> None:
    assert sonde("run", "--", sys.executable, "-X", "dev", "-m", "timeit", "1").returncode == 0
    (path,) = folder.glob("*.sonde")
    assert path.name.startswith("sonde-timeit-")
    assert read(path).target["program"] == "timeit"


def test_python_m_sonde_is_sonde(folder: Path) -> None:
    command = [sys.executable, "-m", "sonde", "run", "app.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    assert "read it with: sonde report sonde-app-" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["-m"], ["-c"], ["--"]])
def test_nothing_to_run(arguments: list[str]) -> None:
    done = sonde("run", *arguments)
    assert (done.returncode, done.stderr) == (
        2,
        "sonde: nothing to run; give a SCRIPT.py, -m MODULE, -c CODE or a COMMAND\n",
    )


def test_a_file_is_not_overwritten(folder: Path) -> None:
    kept = folder / "out.sonde"
    kept.write_bytes(b"precious")
    done = sonde("run", "-o", kept, "app.py", cwd=folder)
    # Before the program starts: it has printed nothing.
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"sonde: {kept} exists; give another file, or overwrite it with --force\n"
    )
    assert kept.read_bytes() == b"precious"
    assert sonde("run", "-o", kept, "--force", "app.py", cwd=folder).returncode == 0
    assert read(kept).target["program"] == "app"


def test_a_file_without_content_is_no_loss(folder: Path) -> None:
    (folder / "out.sonde").touch()
    assert sonde("run", "-o", "out.sonde", "app.py", cwd=folder).returncode == 0


def test_segments_follow_those_that_are_there(folder: Path) -> None:
    (folder / "out.sonde").write_bytes(b"precious")
    options = ["--mode", "continuous", "--rotate", "10MB", "-o", "out.sonde", "app.py"]
    for _ in range(2):
        assert sonde("run", *options, cwd=folder).returncode == 0
    found = sorted(path.name for path in folder.glob("*.sonde"))
    assert found == ["out.0001.sonde", "out.0002.sonde", "out.sonde"]


def test_force_needs_a_file(folder: Path) -> None:
    done = sonde("run", "--force", "app.py", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "sonde: --force needs -o FILE\n")


def test_a_chosen_name_is_that_of_no_file(folder: Path) -> None:
    options = RecordingOptions()
    assert options.path_for("app", 7) == "sonde-app-7.sonde"
    for name in ("sonde-app-7.sonde", "sonde-app-7-2.sonde"):
        (folder / name).touch()
    assert options.path_for("app", 7) == "sonde-app-7-3.sonde"
    assert RecordingOptions(output="x").path_for("app", 7) == "x"


def test_attach_does_not_overwrite_either(folder: Path) -> None:
    (folder / "out.sonde").write_bytes(b"precious")
    done = sonde("attach", str(os.getpid()), "-o", "out.sonde", cwd=folder)
    assert (done.returncode, "overwrite it with --force" in done.stderr) == (2, True)


def test_a_view_after_the_program_is_on_stderr(folder: Path) -> None:
    done = sonde("run", "--report", "flat", "app.py", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "spin  app.py:3" in done.stderr


def test_a_view_that_there_is_not_is_refused_before_the_program_starts(folder: Path) -> None:
    done = sonde("run", "--report", "flut", "app.py", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "sonde: invalid view 'flut' (did you mean flat?); valid views: summary"
    )


def test_the_exit_code_stays_the_programs(folder: Path) -> None:
    done = sonde("run", "--report", "locks", "-c", "raise SystemExit(7)", cwd=folder)
    assert done.returncode == 7
    options = RecordingOptions(report="flat")
    follow_up(str(folder / "missing.sonde"), options)  # says so, and raises nothing


def test_nothing_recorded_is_nothing_to_show(folder: Path) -> None:
    done = sonde("run", "--report", "flat", "--", "true", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1


def test_the_web_ui_opens_after_the_program(folder: Path) -> None:
    environment = {k: v for k, v in clean_environment().items() if "DISPLAY" not in k}
    environment.pop("BROWSER", None)
    process = subprocess.Popen(
        [*SONDE, "run", "--open", "app.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell in the background has Ctrl-C ignored, and what it starts inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    said = [process.stderr.readline() for _ in range(3)]
    assert "read it with" in said[0]
    assert "no display found" in said[2]
    url = re.search(r"http://[^ ;]+", said[1])
    assert url is not None
    with urllib.request.urlopen(url[0], timeout=30) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "done\n", "")


def test_a_browser_starts_without_blocked_signals(folder: Path) -> None:
    browser = folder / "browser"
    # In Python, as a shell unblocks them all.
    browser.write_text(
        f"#!{sys.executable}\nimport os, signal\n"
        "with open('new', 'w') as file: print(*signal.pthread_sigmask(0, ()), file=file)\n"
        "os.rename('new', 'blocked')\n"
    )
    browser.chmod(0o755)
    process = subprocess.Popen(
        [*SONDE, "run", "--open", "app.py"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment(BROWSER=f"{browser} %s", DISPLAY=":0"),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        until((folder / "blocked").exists, "the browser starts", process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert (folder / "blocked").read_text().split() == []
