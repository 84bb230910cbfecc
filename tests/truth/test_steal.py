"""What the hypervisor took, against threads of which it is known what it took from them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from launching import SONDE, Interpreter, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import RUNNING
from sonde.views.threads import threads
from truth.stacks import PROGRAMS

PINNED = PROGRAMS / "pinned.py"
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
ENOUGH_NS = 10 * TICK_NS
"""Steal below which the kernel's ticks are too coarse to say how right a share of it is."""


def two_processors() -> list[int]:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("needs two processors")
    return usable[:2]


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_sample_tells_its_processor(python: Interpreter, tmp_path: Path) -> None:
    first, second = two_processors()
    # Long enough for a row of each processor, which is written once a second.
    program = [python.path, PINNED, "1.5", f"{first},{second}"]
    run = must_run(tmp_path / "x.sonde", program, "--what", "cpu,threads")
    recording = run.recording
    samples, told = recording.samples, json.loads(run.out)
    for row, name in enumerate(recording.threads.name):
        mine = (samples.thread == row) & (samples.state == RUNNING)
        if name in told:
            # Its first samples may be from before it was pinned.
            where = samples.processor[mine][3:]
            assert len(where) > 10
            assert set(where.tolist()) == {told[name]["processor"]}
        else:
            assert (samples.processor[mine] >= 0).all()
    known = threads(recording).steal_by_processor
    assert known is not None
    assert known > 0.95


class MadeUp:
    """A /proc/stat in which processors lose a known share of the time and do nothing else."""

    def __init__(self, path: Path, rates: dict[int, float]) -> None:
        self._rates, self._began = rates, time.monotonic_ns()
        self._file = path.open("wb", buffering=0)
        self._over = threading.Event()
        self._write()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    def _write(self) -> None:
        passed = time.monotonic_ns() - self._began
        ticks = {cpu: int(passed * rate) // TICK_NS for cpu, rate in self._rates.items()}
        # As long at any time, so that a reader never sees the end of one and the rest of another.
        rows = [("cpu", sum(ticks.values())), *((f"cpu{cpu}", n) for cpu, n in ticks.items())]
        text = "".join(f"{name} 0 0 0 0 0 0 0 {n:010} 0 0\n" for name, n in rows)
        os.pwrite(self._file.fileno(), text.encode(), 0)

    def _go_on(self) -> None:
        while not self._over.wait(0.005):
            self._write()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self._file.close()


@contextmanager
def made_up(path: Path, rates: dict[int, float]) -> Iterator[None]:
    written = MadeUp(path, rates)
    try:
        yield
    finally:
        written.end()


def found_of(path: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads(sonde("report", path, "threads", "--json").stdout)["rows"]
    return {row["name"]: row for row in rows}


def longest_step(recording: Recording) -> int:
    return int(np.diff(recording.machine.time, prepend=0).max())


def could_lose(recording: Recording, thread: int, rate: float) -> float:
    """What a processor lost in the steps in which the thread ran, but no more than it used.

    In the made-up figures a processor is busy with what was stolen from it, and nothing else.
    """
    metrics, ends = recording.metrics, recording.machine.time
    mine = np.flatnonzero((metrics.thread == thread) & (metrics.cpu_ns > 0))
    step = np.searchsorted(ends, metrics.time[mine])
    inside = step < len(ends)
    length = np.diff(ends, prepend=0)[step[inside]]
    return float(np.minimum(rate * length, metrics.cpu_ns[mine[inside]]).sum())


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_each_thread_has_the_steal_of_its_own_processor(tmp_path: Path) -> None:
    """Two threads that use as much, on processors of which one loses three times as much."""
    processors = two_processors()
    rates = dict(zip(processors, (0.3, 0.1), strict=True))
    stat, path = tmp_path / "stat", tmp_path / "x.sonde"
    command = [
        *SONDE, "run", "-o", path, "--what", "cpu,threads", "--",
        sys.executable, PINNED, "0.6", ",".join(map(str, processors)),
    ]  # fmt: skip
    over = f"mount --bind {shlex.quote(str(stat))} /proc/stat"
    with made_up(stat, rates):
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f"{over} || exit 99; exec {shlex.join(map(str, command))}"],
            capture_output=True, text=True, env=clean_environment(), timeout=120, check=False,
        )  # fmt: skip
    if done.returncode == 99:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told, found, recording = json.loads(done.stdout), found_of(path), read(path)
    # At either end a step is given whole to who ran in it. In proportion to their use alone both
    # would have as much, and the second twice its own.
    unsure_ns = 2 * longest_step(recording) + 2 * TICK_NS
    for name, thread in told.items():
        rate, stolen = rates[thread["processor"]], found[name]["steal_ns"]
        allowed = rate * unsure_ns + 2 * TICK_NS
        assert stolen <= rate * thread["wall_ns"] + allowed, name
        # Steal comes in ticks, of which a step that used less than one has only that much.
        least = could_lose(recording, recording.threads.name.index(name), rate)
        assert stolen >= 0.6 * least - allowed, name


def test_the_steal_of_this_machine(tmp_path: Path) -> None:
    """Where it happens: of threads that had a processor nearly to themselves."""
    processors = ",".join(map(str, two_processors()))
    run = must_run(
        tmp_path / "x.sonde", [sys.executable, PINNED, "0.6", processors], "--what", "cpu,threads"
    )
    told, found = json.loads(run.out), found_of(run.path)
    judged = 0
    for name, thread in told.items():
        alone = thread["wall_ns"] - thread["delay_ns"] > 0.9 * thread["wall_ns"]
        if not alone or thread["steal_ns"] < ENOUGH_NS:
            continue
        judged += 1
        # The kernel's ticks at both ends, and what the rest of the time others had the processor.
        unsure = 4 * TICK_NS + 0.15 * thread["steal_ns"]
        assert abs(found[name]["steal_ns"] - thread["steal_ns"]) <= unsure, name
    if not judged:
        most = max(thread["steal_ns"] for thread in told.values())
        share = max(1 - t["delay_ns"] / t["wall_ns"] for t in told.values())
        pytest.skip(
            f"too little to judge: at most {most / 1e6:.0f} ms were stolen from a processor, which "
            f"a thread had for at most {share:.0%} of the time"
        )
