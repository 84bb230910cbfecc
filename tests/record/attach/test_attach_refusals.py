"""What cannot be attached to is refused in one sentence, with the right code and no traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attaching import Target, attach, begun, until
from launching import SONDE, TIMEOUT_S, Interpreter, sonde
from sonde.errors import SondeError
from sonde.record.targets import cpython, process

USAGE, FAILURE = 2, 1
NOBODY = 65534
# Two of them write into one pipe: each its line at once.
SLEEPS = "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"
SPINS = "import os; print(os.getpid(), flush=True)\nwhile True: pass"


def refused(code: int, *arguments: str) -> str:
    done = sonde("attach", *arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sonde: ")
    return lines[0].removeprefix("sonde: ")


def test_wrong_calls(tmp_path: Path) -> None:
    there = ("-o", str(tmp_path / "x.sonde"))
    me = str(os.getpid())
    assert "invalid PID" in refused(USAGE, "nobody", *there)
    assert "invalid PID" in refused(USAGE, "0", *there)
    assert "invalid --for '0'; give" in refused(USAGE, me, "--for", "0", *there)
    assert "dreams" in refused(USAGE, me, "--what", "dreams", *there)
    assert "luck" in refused(USAGE, me, "--sampler", "luck", *there)
    assert "not 0" in refused(USAGE, me, "--rate", "0", *there)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_program_that_starts_one_names_it(
    any_python: Interpreter, tmp_path: Path, count: int
) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(SLEEPS)
    one = f"{any_python.path} {script}"
    # A shell that has something left to do stays.
    shell = subprocess.Popen(
        ["sh", "-c", f"{f'{one} & ' * (count - 1)}{one}; true"], stdout=subprocess.PIPE, text=True
    )
    assert shell.stdout is not None
    children = [int(shell.stdout.readline()) for _ in range(count)]
    try:
        said = refused(FAILURE, str(shell.pid), "-o", str(tmp_path / "x.sonde"))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        shell.communicate()
    one_of_them = f"; attach to {children[0]}, sleeps, which it started"
    many = f"; record its 2 descendants that are with: --tree {shell.pid}"
    assert said.endswith(one_of_them if count == 1 else many)


def test_what_is_no_python(tmp_path: Path) -> None:
    there = ("-o", str(tmp_path / "x.sonde"))
    assert refused(FAILURE, "4194305", *there) == "no process 4194305"
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        assert "or a JVM 17 or newer: it runs /" in refused(FAILURE, str(sleeper.pid), *there)
        sleeper.kill()
        until(lambda: process.status_of(sleeper.pid).get("State", "Z")[0] == "Z", "its end")
        assert "has exited" in refused(FAILURE, str(sleeper.pid), *there)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_recorded_already(
    any_python: Interpreter, keep: Callable[[str], Path]
) -> None:
    path = keep("first")
    with Target(any_python, "-c", SPINS) as t:
        first = attach(t.pid, path)
        until(lambda: begun(path), "samples", first)
        assert f"is already being recorded, into {path}" in refused(FAILURE, str(t.pid))
        first.send_signal(signal.SIGTERM)
        assert first.wait(TIMEOUT_S) == 0


def test_a_stopped_process(any_python: Interpreter, tmp_path: Path) -> None:
    with Target(any_python, "-c", SLEEPS) as t:
        t.process.send_signal(signal.SIGSTOP)
        until(lambda: process.status_of(t.pid)["State"][0] == "T", "it stops")
        assert "is stopped; continue it first" in refused(FAILURE, str(t.pid))


def test_a_file_that_cannot_be_written_leaves_the_target_alone(any_python: Interpreter) -> None:
    with Target(any_python, "-c", SLEEPS) as t:
        assert "/no/such" in refused(FAILURE, str(t.pid), "-o", "/no/such/x.sonde")
        assert "libsonde" not in Path(f"/proc/{t.pid}/maps").read_text()


def test_a_free_threaded_build(monkeypatch: pytest.MonkeyPatch, any_python: Interpreter) -> None:
    with Target(any_python, "-c", SLEEPS) as t:
        found = cpython.find(t.pid)
        assert found is not None
        changed = replace(found, free_threaded=True)
        monkeypatch.setattr(cpython, "find", lambda _: changed)
        with pytest.raises(SondeError, match="free-threaded"):
            process.inspect_process(t.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user(any_python: Interpreter, tmp_path: Path) -> None:
    """Somebody unprivileged is told whose process it is; sonde is run from where all may read."""
    with Target(any_python, "-c", SLEEPS) as t:
        question = (
            "import os, sys; sys.path[:0] = sys.argv[2:];"
            "from sonde.record.targets import process; from sonde.errors import SondeError\n"
            f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "try: process.inspect_process(int(sys.argv[1]))\n"
            "except SondeError as error: print(error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", question, str(t.pid), *sys.path],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    assert f"process {t.pid} belongs to root and you are" in done.stdout, done.stderr
    assert "CAP_SYS_PTRACE" in done.stdout


needs_setpriv = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can drop capabilities"
)


@needs_setpriv
@pytest.mark.parametrize(
    ("capabilities", "sentence"),
    [
        ("dac_override,chown", "as root (it needs CAP_SYS_PTRACE)"),
        ("sys_ptrace", "as root (it needs CAP_DAC_OVERRIDE and CAP_CHOWN)"),
        ("sys_ptrace,dac_override", "as root with CAP_CHOWN and CAP_DAC_OVERRIDE"),
    ],
)
def test_root_with_some_capabilities_is_told_which_others_it_needs(
    capabilities: str, sentence: str, any_python: Interpreter, tmp_path: Path
) -> None:
    """As in a container that drops all but some."""
    kept = "".join(f",+{name}" for name in capabilities.split(","))
    fewer = ["setpriv", "--bounding-set", f"-all{kept}", "--inh-caps", "-all"]
    becomes_nobody = (
        f"import ctypes, os; os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        # /proc is nobody's again, as after an exec.
        f"PR_SET_DUMPABLE = 4; ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)\n{SLEEPS}"
    )
    with Target(any_python, "-c", becomes_nobody) as t:
        done = subprocess.run(
            [*fewer, *SONDE, "attach", str(t.pid), "--for", "1", "-o", str(tmp_path / "x.sonde")],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == FAILURE
        assert sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1
