"""kill -9 at any moment: the recording opens and is nearly whole, and a target never suffers.

A hundred times, at moments from a seeded die. What may be missing is told by the program itself: it
writes the time into a file at every step it takes, up to the moment of its death.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, clean_environment
from matrix import NEWEST, OLDEST_AND_NEWEST
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

ROUNDS = 10
"""Of each kind and on each interpreter: 100 in all."""

MAY_MISS_NS = 200_000_000


WINDOW_NS = 500_000_000


def waited_ns(pid: int) -> int:
    """How long a process has waited for a processor, although it could have run."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def beat(path: Path) -> tuple[int, int]:
    """The program's process id and the time of its last step; zeros before the first."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    return struct.unpack("<Qq", data) if len(data) == 16 else (0, 0)


def recorder_of(pid: int) -> int:
    """The child of `sonde run` that is its recorder."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if b"sonde.record.recorder.main" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    raise AssertionError("sonde run has no recorder")


def kill_once(python: Interpreter, path: Path, whom: str, after: float) -> list[str]:
    """One round; returns what was wrong."""
    file = path.with_suffix(".beat")
    seconds = "60" if whom == "target" else f"{after + 0.3:.3f}"
    process = subprocess.Popen(
        [*SONDE, "run", "-o", path, "--", python.path, TARGETS / "heartbeat.py", file, seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    end = time.monotonic() + TIMEOUT_S
    while not beat(file)[1]:
        assert time.monotonic() < end, "the target never began"
        time.sleep(0.01)
    recorder = recorder_of(process.pid)
    # What the machine kept from the recorder before the kill cannot be its fault.
    began, kept = time.monotonic_ns(), [(0, waited_ns(recorder) if after > 0.3 else 0)]
    while (passed := time.monotonic_ns() - began) < after * 1e9:
        kept.append((passed, waited_ns(recorder)))
        time.sleep(min(0.01, max(0.0, after - passed / 1e9)))
    # The last one told, where even that is longer ago: we may have been kept from asking ourselves.
    within = (ns for at, ns in kept if at >= passed - WINDOW_NS)
    kept_ns = waited_ns(recorder) - next(within, kept[-1][1])
    last = beat(file)[1]
    os.kill(beat(file)[0] if whom == "target" else recorder, signal.SIGKILL)
    out, err = process.communicate(timeout=TIMEOUT_S)
    wrong = []
    recording = read(path)
    origin = int(recording.target["started"] * 1e9)
    missing = last - origin - (int(recording.samples.time[-1]) if len(recording.samples) else 0)
    allowed = MAY_MISS_NS + kept_ns
    if missing > allowed:
        wrong.append(f"the last {missing / 1e6:.0f} ms are missing, {allowed / 1e6:.0f} allowed")
    if "Traceback" in err:
        wrong.append(err)
    if whom == "target":
        if (process.returncode, out) != (-signal.SIGKILL, ""):
            wrong.append(f"sonde run ended with {process.returncode} and {out!r}")
        if recording.warnings:
            wrong.append(f"a recorder that lives has the end: {recording.warnings}")
    else:
        # The target has not noticed: same output, same code.
        if (process.returncode, out.split()[:1]) != (5, ["done"]):
            wrong.append(f"the target ended with {process.returncode} and {out!r}")
        if not recording.warnings:
            wrong.append("nothing says that the recording is cut off")
        if "recorder was killed" not in err:
            wrong.append(f"sonde run did not say what happened: {err!r}")
    return wrong


@pytest.mark.versions(NEWEST)
@pytest.mark.parametrize("whom", ["target", "recorder"])
def test_kill_at_any_moment(python: Interpreter, keep: Callable[[str], Path], whom: str) -> None:
    die = random.Random(f"{python.version} {whom}")
    rounds = [(keep(whom), whom, die.uniform(0.0, 0.45)) for _ in range(ROUNDS)]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda r: kill_once(python, *r), rounds))
    wrong = [
        f"killed {whom} after {after:.3f} s: {line}"
        for (_, _, after), lines in zip(rounds, results, strict=True)
        for line in lines
    ]
    assert not wrong, "\n".join(wrong)
