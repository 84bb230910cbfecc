"""JVMs that run a paced program, and recordings of them by sonde or Flight Recorder.

A paced program (benchmarks/workloads/java) does the same piece of work over and over and tells how
many pieces it did in how much time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.record.control_client import ControlClient

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
import jdks

SOURCES = Path(__file__).parents[1] / "workloads" / "java"
# The compilers have had their time by then.
WARM_S = 4.0
ATTACHED_S = 20.0


def homes() -> dict[Path, str]:
    """Each JDK of this machine, and its version."""
    return jdks.found()


def compiled(home: Path, name: str, folder: Path, *libraries: Path) -> Path:
    """The folder with the classes of that program."""
    path = ["-cp", ":".join(map(str, libraries))] if libraries else []
    subprocess.run(
        [home / "bin" / "javac", *path, "-d", folder, SOURCES / f"{name}.java"], check=True
    )
    return folder


class Running:
    def __init__(
        self, java: Path, classes: Path, program: str, main: str = "Paced", threads: int = 1
    ) -> None:
        self._process = subprocess.Popen(
            # As a program that expects agents: attaching then takes the JVM's own way.
            [
                java,
                "-XX:+EnableDynamicAgentLoading",
                "-Xmx256m",
                "-cp",
                classes,
                main,
                program,
                str(threads),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.pid = int(self._process.stdout.readline())

    def slice(self, seconds: float) -> float:
        """Nanoseconds a piece took, over a slice, by the program's own clock."""
        pieces, clock = self._state()
        time.sleep(seconds)
        more, later = self._state()
        return (later - clock) / max(more - pieces, 1)

    def _state(self) -> tuple[int, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        pieces, clock = self._process.stdout.readline().split()
        return int(pieces), int(clock)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def running(
    java: Path, classes: Path, program: str, main: str = "Paced", threads: int = 1
) -> Iterator[Running]:
    started = Running(java, classes, program, main, threads)
    try:
        started.slice(WARM_S)
        yield started
    finally:
        started.end()


@contextmanager
def sonde(pid: int, rate: int, path: Path, what: str = "cpu") -> Iterator[ControlClient]:
    """A session of that process; steered by what is yielded, and ended."""
    from sonde.record.control_client import ControlClient

    path.unlink(missing_ok=True)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sonde",
            "attach",
            str(pid),
            "--what",
            what,
            "--rate",
            str(rate),
            "-o",
            str(path),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with ControlClient(_control(process, pid)) as orders:
            yield orders
    finally:
        process.terminate()
        process.communicate()


def _control(process: subprocess.Popen[str], pid: int) -> str:
    """The socket of the session, as soon as it has the process."""
    from sonde.record.targets import session_registry

    end = time.monotonic() + ATTACHED_S
    while (session := session_registry.find(pid)) is None:
        if process.poll() is not None:
            raise RuntimeError(f"sonde attach failed: {process.communicate()[1].strip()}")
        if time.monotonic() > end:
            raise RuntimeError("sonde attach does not get into the JVM")
        time.sleep(0.05)
    return session.control


@contextmanager
def jfr(home: Path, pid: int, path: Path) -> Iterator[None]:
    """Its `profile` settings: a sample every 10 ms of up to eight threads, and its other events."""

    def ask(*words: str) -> None:
        subprocess.run(
            [home / "bin" / "jcmd", str(pid), *words], check=True, capture_output=True, timeout=60
        )

    path.unlink(missing_ok=True)
    ask("JFR.start", "name=bench", "settings=profile")
    try:
        yield
    finally:
        ask("JFR.stop", "name=bench", f"filename={path}")
