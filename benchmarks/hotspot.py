"""What recording a Java program costs it: slices with and without sonde or JFR in one JVM.

A program in Java does the same piece of work over and over and tells how many pieces it did for how
much CPU time of its working threads. Recording is started and ended in it by attaching and
detaching; slices follow one another in turn, so that neighbours are compared. The compilers have
had their time before the first slice.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from markdown import Section, verdict
from progress import say

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))
import jdks

SOURCE = Path(__file__).with_name("java") / "Paced.java"
PROGRAMS = ("numbers", "calls", "objects", "sorting", "deep")
WARM_S = 4.0
BOUND_AT_1000 = 2.0

# Hofer, Method Profiling and Lock Contention Profiling on the Java Virtual Machine Level: stack
# fragment sampling, by the interval between samples.
HOFER = "Hofer's stack fragment sampling: 1 % at 10 ms, 2.1 % at 1 ms, 9.7 % at 0.1 ms."


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
        """Nanoseconds of CPU time a piece took, over a slice."""
        pieces, cpu = self._state()
        time.sleep(seconds)
        more, later = self._state()
        return (later - cpu) / max(more - pieces, 1)

    def _state(self) -> tuple[int, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        pieces, cpu = self._process.stdout.readline().split()
        return int(pieces), int(cpu)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def running(
    java: Path, classes: Path, program: str, main: str = "Paced", threads: int = 1
) -> Iterator[Running]:
    started = Running(java, classes, program, main, threads)
    try:
        yield started
    finally:
        started.end()


@dataclass
class Cost:
    ratios: list[float] = field(default_factory=list)
    """Of a slice to those before and after it without anything."""
    taken: int = 0
    failed: int = 0

    def percent(self) -> float:
        return 100 * (statistics.median(self.ratios) - 1)


@contextmanager
def sonde(pid: int, rate: int, path: Path, what: str = "cpu") -> Iterator[None]:
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
    end = time.monotonic() + 20
    while not (path.exists() and path.stat().st_size > 4096):
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"sonde attach failed: {process.communicate()[1]}")
        time.sleep(0.05)
    try:
        yield
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def jfr(home: Path, pid: int, path: Path) -> Iterator[None]:
    """Its `profile` settings: a sample every 10 ms of up to eight threads, and its other events."""

    def ask(*words: str) -> None:
        subprocess.run(
            [home / "bin" / "jcmd", str(pid), *words], check=True, capture_output=True, timeout=60
        )

    ask("JFR.start", "name=bench", "settings=profile")
    try:
        yield
    finally:
        ask("JFR.stop", "name=bench", f"filename={path}")


def measure(
    home: Path, classes: Path, program: str, rounds: int, seconds: float, scratch: Path
) -> dict[str, Cost]:
    from sonde.recording.reader import read

    costs = {"sonde 1,000": Cost(), "sonde 10,000": Cost(), "JFR profile": Cost()}
    with running(home / "bin" / "java", classes, program) as it:
        it.slice(WARM_S)
        for number in range(rounds):
            for name, cost in costs.items():
                before = it.slice(seconds)
                path = scratch / f"{number}.recording"
                path.unlink(missing_ok=True)
                if name == "JFR profile":
                    with jfr(home, it.pid, path):
                        during = it.slice(seconds)
                else:
                    rate = int(name.split()[1].replace(",", ""))
                    with sonde(it.pid, rate, path):
                        during = it.slice(seconds)
                    quality = read(path).quality
                    cost.taken += quality["taken"]
                    cost.failed += quality["undecodable"] + quality["lost"]
                after = it.slice(seconds)
                cost.ratios.append(during / ((before + after) / 2))
    return costs


def report(section: Section, quick: bool) -> None:
    homes = jdks.found()
    if not homes:
        section.say("There is no JDK on this machine.")
        return
    rounds, seconds = (2, 0.7) if quick else (9, 1.5)
    programs = PROGRAMS[1:2] if quick else PROGRAMS
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for home, version in homes.items():
            classes = scratch / version
            subprocess.run([home / "bin" / "javac", "-d", classes, SOURCE], check=True)
            rows = []
            for program in programs:
                say(f"hotspot: {version} {program}")
                costs = measure(home, classes, program, rounds, seconds, scratch)
                worst = max(worst, costs["sonde 1,000"].percent())
                failed = [f"{100 * c.failed / c.taken:.2f} %" for c in costs.values() if c.taken]
                rows.append([program, *(f"{c.percent():+.1f} %" for c in costs.values()), *failed])
            head = ["program", "sonde 1 kHz", "sonde 10 kHz", "JFR", "failed 1 kHz", "10 kHz"]
            middle = [np.median([float(row[i].split()[0]) for row in rows]) for i in (1, 2, 3)]
            rows.append(["*median*", *(f"{value:+.1f} %" for value in middle), "", ""])
            title = (
                f"CPU time a piece of work takes more on JDK {version}, median of {rounds} pairs"
            )
            section.table(title, head, rows)
    section.bounds(
        [verdict("dearest program at 1 kHz", worst, BOUND_AT_1000, "%", f"{worst:.1f} %")]
    )
    section.say(HOFER)
