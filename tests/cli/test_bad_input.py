"""What people type by mistake: one clear sentence, exit code 1 or 2, nothing lost."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launching import run_command, sonde
from sonde.cli.shared.closing_message import all_of
from sonde.record.system import permissions
from sonde.record.targets import process

INTERRUPTED_IN_IMPORTS = """
import os, signal, sys
class AtTyper:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, AtTyper())
from sonde.cli._start import main
sys.argv = ["sonde", "--version"]
sys.exit(main())
"""


def interrupted_in_imports(action: signal.Handlers) -> subprocess.CompletedProcess[str]:
    """Who was started by a shell in the background ignores Ctrl-C, tests included: it is set."""
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_IMPORTS],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, action),
    )


def test_ctrl_c_while_it_still_imports() -> None:
    done = interrupted_in_imports(signal.SIG_DFL)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_ctrl_c_that_is_ignored_stays_ignored() -> None:
    done = interrupted_in_imports(signal.SIG_IGN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sonde ")


@pytest.mark.parametrize("verb", ["attach", "top", "waits", "threads"])
@pytest.mark.parametrize("pid", ["0", "x", "1.5", "", "٣"])
def test_no_process_id(verb: str, pid: str) -> None:
    done = sonde(verb, pid)
    assert done.returncode == 2
    assert done.stderr == f"sonde: invalid PID {pid!r}\n"


def test_names_that_are_empty() -> None:
    assert sonde("report", "").stderr == "sonde: a file without a name does not exist\n"
    done = sonde("ctl", "")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no session given" in done.stderr


def test_the_machine_is_not_asked_about_a_process_that_is_not_there() -> None:
    done = sonde("tprof", "--process", "99999999", "--for", "60")
    assert (done.returncode, done.stderr) == (1, "sonde: no process 99999999\n")


def test_what_cannot_be_run_and_why(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    out = tmp_path / "x.sonde"
    for code, command, says in [
        (126, str(tmp_path), f"{tmp_path} is a directory; give a program"),
        (126, str(file), f"{file} is not executable; make it executable, or put its interpreter"),
        (
            127,
            "notes.txt",
            "no program 'notes.txt' found; to run a file in this directory, give ./notes",
        ),
        (127, "no-such-program", "no program 'no-such-program' found"),
        (127, "no-such-script.py", "no script 'no-such-script.py' found"),
    ]:
        done = run_command(out, [command], cwd=tmp_path)
        assert done.code == code
        assert done.err.startswith(f"sonde: {says}")
        assert done.err.count("\n") == 1
    assert not out.exists()


def test_a_device_without_room_keeps_nothing_and_says_no_more() -> None:
    done = sonde("run", "-o", "/dev/full", "--", sys.executable, "-c", "1")
    assert (done.returncode, done.stderr) == (
        1,
        "sonde: cannot write /dev/full: No space left on device\n",
    )


@pytest.mark.parametrize("name", ["a b.sonde", "it's.sonde", "n\udcff.sonde", "tab\t\\.sonde"])
def test_a_command_that_is_told_can_be_typed(name: str) -> None:
    told = all_of("normal", name)
    back = subprocess.run(
        ["bash", "-c", f"printf %s {told}"], capture_output=True, check=True
    ).stdout
    assert back == os.fsencode(name)
    assert told.isascii()


def test_a_plain_name_is_told_as_it_is() -> None:
    assert all_of("normal", "app.sonde") == shlex.quote("app.sonde") == "app.sonde"


def test_root_is_not_told_to_become_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permissions, "setting", lambda _: 0)
    uid = str(os.geteuid())
    for capable, says in [
        (True, "despite CAP_SYS_PTRACE"),
        (False, "run sonde as root"),
    ]:
        monkeypatch.setattr(permissions, "has_capability", lambda *_, answer=capable: answer)
        said = process._what_is_missing(4711, {"Uid": f"{uid} {uid} {uid} {uid}"})
        assert says in said
        assert ("run sonde as root" in said) is not capable
