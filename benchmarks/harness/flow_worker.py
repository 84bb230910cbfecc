"""Runs one program without and with the call flow recorded, by turns in one process.

    flow_worker.py '{"program": "richards", "blocks": 6, "seconds": 0.5, …}'

A block has a slice of each condition, in an order drawn anew; only slices of one block are
compared. Leaves OUTPUT.flow.sonde and OUTPUT.samples.sonde. Writes JSON: {"slices": [[block,
condition, CPU ns per round of work], …]}.
"""

from __future__ import annotations

import cProfile
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from workloads import programs

CONDITIONS = ("off", "flow", "flow-c", "cProfile")
SAMPLED = 10_000
"""Samples per second, without the call flow, to compare with."""


class Recorded:
    def __init__(self, job: dict[str, Any], folder: Path, **options: Any) -> None:
        from sonde.record.session import Session

        self.path = folder / f"{time.monotonic_ns()}.sonde"
        self._session = Session(self.path, **options)
        ours, sys.executable = sys.executable, job["recorder"]
        self._session.start()
        sys.executable = ours

    def stop(self) -> None:
        self._session.stop()


def under(condition: str, job: dict[str, Any], folder: Path) -> Any:
    if condition == "cProfile":
        profile = cProfile.Profile()
        profile.enable()
        return profile.disable
    if condition in ("flow", "flow-c"):
        return Recorded(job, folder, what="flow", flow_c=condition == "flow-c", rate=100).stop
    return lambda: None


def spin(work: Any, seconds: float) -> float:
    """CPU time of one round of work."""
    rounds, began = 0, time.thread_time_ns()
    while time.thread_time_ns() < began + seconds * 1e9:
        work()
        rounds += 1
    return (time.thread_time_ns() - began) / rounds


def main() -> None:
    job = json.loads(sys.argv[1])
    sys.path.insert(0, job["source"])
    work = programs.prepare(job["program"])
    random.seed(1)
    slices = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spin(work, job["seconds"])
        for block in range(job["blocks"]):
            order = [*CONDITIONS]
            random.shuffle(order)
            for condition in order:
                stop = under(condition, job, folder)
                work()
                slices.append([block, condition, spin(work, job["seconds"])])
                stop()
        paths = {}
        for what, options in {
            "flow": {"what": "flow", "rate": 100},
            "samples": {"what": "cpu", "rate": SAMPLED},
        }.items():
            recorded = Recorded(job, folder, **options)
            spin(work, job["seconds"] * job["blocks"])
            recorded.stop()
            paths[what] = str(recorded.path)
            os.rename(recorded.path, f"{job['output']}.{what}.sonde")
    print(json.dumps({"slices": slices}))


main()
