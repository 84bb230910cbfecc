"""Completion in the shells themselves: keys are typed, and the completed line is printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from launching import SONDE, clean_environment, sonde
from terminals import Terminal

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(sonde completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "source <(sonde completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "sonde completion fish | source"),
}
BEGINNING_OF_LINE = "\x01"

COMPLETED = {
    "sonde exp": "sonde export",
    "sonde export --form": "sonde export --format",
    "sonde export -f spee": "sonde export -f speedscope",
    "sonde export --format spee": "sonde export --format speedscope",
    "sonde report app.s": "sonde report app.sonde",
    "sonde report app.sonde lock-t": "sonde report app.sonde lock-table",
    "sonde report --mi": "sonde report --mine",
    "sonde run --what cpu,wai": "sonde run --what cpu,waits",
    "sonde attach -o x --mode cont": "sonde attach -o x --mode continuous",
    "sonde fleet compa": "sonde fleet compact",
    "sonde fleet report --merg": "sonde fleet report --merge-lines",
    "sonde completion fi": "sonde completion fish",
    # What the program takes is its own.
    "sonde run app.py --forc": "sonde run app.py --forc",
    "sonde run app.py note": "sonde run app.py notes.txt",
    "sonde export -o note": "sonde export -o notes.txt",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("completion")
    (made / "app.sonde").touch()
    (made / "app.py").touch()
    (made / "notes.txt").touch()
    (made / "bin").mkdir()
    launcher = made / "bin" / "sonde"
    words = " ".join(f"'{word}'" for word in SONDE)
    launcher.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    launcher.chmod(0o755)
    return made


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    command, load = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on this machine")
    environment = clean_environment() | {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PS1": "$ ",
        "LANG": "C.UTF-8",
    }
    terminal = Terminal(command, env=environment, cwd=folder)
    terminal.type(f"{load}; echo load''ed\r".encode())
    terminal.until("loaded")
    yield terminal
    terminal.process.kill()
    terminal.ended()


@pytest.mark.parametrize("typed", COMPLETED)
def test_a_tab_completes(shell: Terminal, typed: str) -> None:
    shell.output = b""
    shell.type(f"{typed}\t{BEGINNING_OF_LINE}echo :\r".encode())
    shell.until(f":{COMPLETED[typed]}\r\n")


def test_pids_are_of_running_processes(folder: Path) -> None:
    """In bash, whose functions can be called."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        pid = str(process.pid)
        for words in (
            ["attach", pid[:-1]],
            ["top", "-p", pid[:-1]],
            ["attach", "--tree", pid[:-1]],
        ):
            assert pid in completed(folder, *words)
    finally:
        process.kill()
        process.wait()


def completed(folder: Path, *words: str) -> list[str]:
    script = (
        f"source <({' '.join(SONDE)} completion bash); COMP_WORDS=(sonde {' '.join(words)}); "
        f"COMP_CWORD={len(words)}; _sonde; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1]


def test_every_command_and_option_is_known(folder: Path) -> None:
    commands = completed(folder, "''")
    assert {"run", "attach", "report", "completion", "fleet"} <= set(commands)
    for command in commands:
        told = sonde(command, "--help").stdout
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", told, re.MULTILINE)
        assert "--help" in options
        assert set(options) <= set(completed(folder, command, "--"))


def test_which_shell() -> None:
    environment = clean_environment()
    assert sonde("completion", env=environment | {"SHELL": "/usr/bin/zsh"}).stdout.startswith(
        "#compdef sonde\n"
    )
    done = sonde("completion", env=environment | {"SHELL": "/bin/csh"})
    assert (done.returncode, done.stderr) == (
        2,
        "sonde: no shell given; valid shells: bash, zsh, fish\n",
    )
    done = sonde("completion", "bsh")
    assert (done.returncode, done.stderr) == (
        2,
        "sonde: invalid shell 'bsh' (did you mean bash?); valid shells: bash, zsh, fish\n",
    )
