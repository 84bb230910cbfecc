"""The variables that bring sonde into a program are seen by none, and reach all it executes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import TIMEOUT_S, Interpreter, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST

Keep = Callable[[str], Path]

# Programs without a runtime of ours, as children with no environment and with their parent's.
SEES = """
import json, os, shutil, subprocess, sys
commands = [["env"], ["printenv"], ["sh", "-c", "export -p; env"], ["env", "-i", "env"],
            ["bash", "--posix", "-c", "export -p; env"], ["perl", "-e", "print sort %ENV"],
            ["xargs", "env"], ["sh", "-c", "exec sh -c env"]]
found = []
for command in commands:
    path = shutil.which(command[0])
    for env in ({}, None, {"LD_PRELOAD": "", "A": "1"}):
        if path:
            done = subprocess.run([path, *command[1:]], env=env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            found.append([command, done.returncode, done.stdout.splitlines(), done.stderr])
found.append(os.popen("env").read().splitlines())
found.append(sorted(os.environ.items()))
print(json.dumps(found))
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_no_program_sees_them(python: Interpreter, keep: Keep) -> None:
    command = [python.path, "-c", SEES]
    environment = clean_environment(MINE="kept", LD_PRELOAD="")
    alone = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
        check=True,
    )
    run = must_run(keep("sees"), command, env=environment)
    for here, there in zip(json.loads(run.out), json.loads(alone.stdout), strict=True):
        assert here == there


WORK = "import os; print(os.getpid()); sum(range(1_000_000))"


def test_children_of_any_program_are_followed(any_python: Interpreter, keep: Keep) -> None:
    """Of shells, tools and those that start a shell by a call of the C library."""
    python = f'"{any_python.path}" -c "{WORK}"'
    ways: list[list[str]] = [
        ["sh", "-c", f"{python}; {python}"],
        ["bash", "-c", f"env -i {python}; :"],
        ["sh", "-c", f"echo '{WORK}' | xargs -d '\\n' \"{any_python.path}\" -c"],
        ["perl", "-e", f"system(q({python})); print `{python}`"],
        ["awk", f'BEGIN {{ system("{python}") }}'.replace(python, python.replace('"', '\\"'))],
        [
            any_python.path,
            "-c",
            f"import os; print(os.getpid(), flush=True); os.system({python!r})",
        ],
        [any_python.path, "-c", f"import os; print(os.getpid(), os.popen({python!r}).read())"],
    ]
    for way in ways:
        if not shutil.which(way[0]):
            continue
        run = must_run(keep("followed"), way)
        pids = sorted(int(pid) for pid in run.out.split())
        assert pids
        assert sorted({process.pid for process in run.recording.processes}) == pids, way


def compiled(folder: Path, text: str, *options: str) -> str:
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    done = subprocess.run(
        ["cc", *options, "-o", program, source], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"cannot be compiled here: {done.stderr.splitlines()[-1]}")
    return str(program)


SYSTEM = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char text[100];
    FILE *f = popen(argv[argc - 1], "r");
    while (fgets(text, sizeof text, f)) fputs(text, stdout);
    fflush(stdout);
    return (pclose(f) | system(argv[argc - 1]) | !!getenv("SONDE_SOCKET")) != 0;
}
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("options", [(), ("--no-children",)])
def test_children_of_system_and_popen(
    python: Interpreter, keep: Keep, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Those calls start their shell from inside the C library."""
    program = compiled(tmp_path, SYSTEM)
    run = must_run(keep("system"), [program, f"'{python.path}' -c '{WORK}'"], *options)
    pids = sorted(int(pid) for pid in run.out.split())
    assert len(pids) == 2
    assert sorted({process.pid for process in run.recording.processes}) == pids


EXECUTES = """
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **a) { return syscall(SYS_execve, a[1], a + 1, environ); }
"""
GO = """
__asm__(".section .note.go.buildid,\\"a\\",@note\\n"
        ".long 4, 4, 4\\n.ascii \\"Go\\\\0\\\\0\\"\\n.long 1\\n.text");
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("kind", ["static", "go"])
def test_children_of_programs_that_cannot_be_entered(
    python: Interpreter, keep: Keep, tmp_path: Path, kind: str
) -> None:
    """They see the variables, and pass them on."""
    options = ("-D_GNU_SOURCE", *(["-static"] if kind == "static" else []))
    program = compiled(tmp_path, EXECUTES + (GO if kind == "go" else ""), *options)
    run = must_run(keep(kind), [program, python.path, "-c", WORK])
    assert {process.pid for process in run.recording.processes} == {int(run.out)}
