"""Runs one program under several conditions, by turns in one process.

    block_worker.py '{"program": "richards", "conditions": {"off": null, …}, "blocks": 6, …}'

A condition is null, "cProfile" or the options of a recording, which is made for each slice: what
hooks cost must not be part of the others. A block has a slice of each condition, in an order drawn
anew; only slices of one block are compared. `kept` has recordings that are left as
OUTPUT.NAME.sonde. Writes JSON: {"slices": [[block, condition, CPU ns per round of work], …],
"rounds": {kept recording: rounds of work in it}}.
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
from workloads import loops, programs


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


def under(condition: Any, job: dict[str, Any], folder: Path) -> Any:
    if condition == "cProfile":
        profile = cProfile.Profile()
        profile.enable()
        return profile.disable
    if condition is not None:
        return Recorded(job, folder, **condition).stop
    return lambda: None


def spin(work: Any, seconds: float) -> tuple[float, int]:
    """CPU time of one round of work, and how many there were."""
    rounds, began = 0, time.thread_time_ns()
    while time.thread_time_ns() < began + seconds * 1e9:
        work()
        rounds += 1
    return (time.thread_time_ns() - began) / rounds, rounds


def main() -> None:
    job = json.loads(sys.argv[1])
    sys.path.insert(0, job["source"])
    work = loops.LOOPS.get(job["program"]) or programs.prepare(job["program"])
    conditions = job["conditions"]
    random.seed(1)
    slices, rounds = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spin(work, job["seconds"])
        for block in range(job["blocks"]):
            order = [*conditions]
            random.shuffle(order)
            for condition in order:
                stop = under(conditions[condition], job, folder)
                work()
                slices.append([block, condition, spin(work, job["seconds"])[0]])
                stop()
        for what, options in job.get("kept", {}).items():
            recorded = Recorded(job, folder, **options)
            rounds[what] = spin(work, job["seconds"] * job["blocks"])[1]
            recorded.stop()
            os.rename(recorded.path, f"{job['output']}.{what}.sonde")
    print(json.dumps({"slices": slices, "rounds": rounds}))


main()
