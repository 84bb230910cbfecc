"""Heap dumps of a real JVM."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from java import Jdk
from launching import TIMEOUT_S, clean_environment

SESSIONS = 1000


@dataclass
class Dumps:
    before: Path
    after: Path


def dump_leaks(jdk: Jdk, classes: Path, folder: Path) -> Dumps:
    """The program Leaks with its sessions, and with twice as many."""
    dumps = Dumps(folder / "before.hprof", folder / "after.hprof")
    with subprocess.Popen(
        [jdk.java, "-Xmx64m", "-cp", classes, "Leaks", str(SESSIONS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for path, answer in ((dumps.before, "+\n"), (dumps.after, "\n")):
            assert program.stdout.readline() == "ready\n"
            command = [jdk.home / "bin" / "jcmd", str(program.pid), "GC.heap_dump", path]
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
            program.stdin.write(answer)
            program.stdin.flush()
        assert program.wait(TIMEOUT_S) == 0
    return dumps
