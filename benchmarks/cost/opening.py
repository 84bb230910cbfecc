"""What it costs to open a large recording, and how large recordings are."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accuracy.accuracy import steady
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict
from workloads import synthetic

SAMPLES = 1_000_000
CONTEXTS = 50_000
STEADY_CONTEXTS = 300
SECONDS_GOAL = 3.0
MEMORY_GOAL_MB = 500.0
BYTES_GOAL = 16.0
TIMES = 3
TIMEOUT = 10


def sonde() -> str:
    return str(Path(sys.executable).parent / "sonde")


def asked(verb: str, *arguments: object) -> dict[str, Any]:
    """What sonde answers in JSON."""
    done = subprocess.run(
        [sonde(), verb, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@dataclass
class Cost:
    seconds: float
    peak_mb: float
    bytes_out: int
    cpu_seconds: float = 0.0
    finished: bool = True
    """False: the command was stopped at its limit, so every figure is a lower bound."""


def cost_of(
    command: list[str], *, env: dict[str, str] | None = None, limit: float | None = None
) -> Cost:
    """Wall and CPU time and peak memory of a command, and how much it printed.

    A command that uses more than `limit` seconds of CPU time is stopped, or whatever it waits for
    after `TIMEOUT` times as many: other programs on the machine must not decide which ones end.
    """
    read, write = os.pipe()
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.DEVNULL, env=env)
    os.close(write)
    if limit is not None:
        seconds_limit = math.ceil(limit)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds_limit, seconds_limit))
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        process.kill()

    timer = threading.Timer(TIMEOUT * limit, stop) if limit is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    printed = 0
    with open(read, "rb", buffering=0) as output:
        while piece := output.read(1 << 20):
            printed += len(piece)
    # Not reaped yet: until the timer can no longer kill it, the process id must stay its own.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if timer is not None:
        timer.cancel()
        timer.join()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    finished = not process.returncode
    if not finished and not stopped.is_set() and (limit is None or cpu_seconds < limit):
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(seconds, usage.ru_maxrss / 1024, printed, cpu_seconds, finished)


def of_opening(section: Section, scratch: Path, samples: int) -> None:
    rows = []
    worst_s = worst_mb = 0.0
    for name, contexts in (("varied", CONTEXTS), ("steady", STEADY_CONTEXTS)):
        path = scratch / f"{name}.sonde"
        say(f"opening: writing {samples:,} samples in {contexts:,} contexts")
        synthetic.write(path, samples, contexts)
        size = path.stat().st_size
        for view in ("tree", "flat", "summary"):
            say(f"opening: {view} of the {name} one")
            costs = [cost_of([sonde(), "report", str(path), view, "--json"]) for _ in range(TIMES)]
            seconds = statistics.median(cost.seconds for cost in costs)
            peak = max(cost.peak_mb for cost in costs)
            if view == "tree":
                worst_s, worst_mb = max(worst_s, seconds), max(worst_mb, peak)
            rows.append(
                [
                    f"{name}, {contexts:,} contexts",
                    view,
                    f"{seconds:.2f}",
                    f"{peak:.0f}",
                    f"{size / 1e6:.1f}",
                    f"{size / samples:.1f}",
                ]
            )
    head = ["recording", "view", "seconds", "peak MB", "file, MB", "bytes a sample"]
    section.table(f"`sonde report FILE VIEW --json`, {samples:,} samples", head, rows)
    section.goals(
        [
            verdict("tree, slower one", worst_s, SECONDS_GOAL, "s", f"{worst_s:.2f} s"),
            verdict("tree, larger one", worst_mb, MEMORY_GOAL_MB, "MB", f"{worst_mb:.0f} MB"),
        ]
    )


def of_disk(
    section: Section, env: Environment, names: list[str], seconds: float, scratch: Path
) -> None:
    """Bytes a sample of real programs: two lengths tell the growth from what every file has."""
    from sonde.recording.reader import read

    rows = []
    worst = 0.0
    for name in names:
        sizes, counts = [], []
        for length in (seconds / 2, seconds):
            say(f"disk: {name}, {length:.0f} s at 1000 Hz")
            path = scratch / "disk.sonde"
            command = [sonde(), "run", "--force", "-o", str(path), "--", *steady(env, name, length)]
            subprocess.run(command, env=env.variables(), capture_output=True, check=True)
            sizes.append(path.stat().st_size)
            counts.append(len(read(str(path)).samples))
        whole = sizes[1] / counts[1]
        growth = (sizes[1] - sizes[0]) / max(counts[1] - counts[0], 1)
        worst = max(worst, whole)
        rows.append([name, f"{counts[1]:,}", f"{sizes[1]:,}", f"{whole:.1f}", f"{growth:.1f}"])
    head = ["program", "samples", "bytes", "bytes a sample", "each further one"]
    section.table(f"On disk, 1000 Hz, {seconds:.0f} s, Python {env.version}", head, rows)
    section.goals(
        [verdict("whole file, largest", worst, BYTES_GOAL, "bytes a sample", f"{worst:.1f}")]
    )
