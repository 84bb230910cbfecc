"""How right the steal time of threads is, against threads of which the kernel tells it.

A thread that only computes is on a processor or in its run queue; one that waited all the same is
left out. The rest of its time is what the hypervisor took while it ran, where the kernel's CPU
clock leaves that out. The same recording is read twice: with the processors of its samples, and as
if they were not known.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cost.opening import sonde
from harness.paired import Column, Figure
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.selecting.stolen_time import by_thread

PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "truth" / "programs" / "pinned.py"
GOAL = 0.05
ENOUGH_NS = 100_000_000
"""Of steal time in all; with less the kernel's ticks of 10 ms are most of what is compared."""
DRAWS = 2000


@dataclass(frozen=True)
class Plan:
    runs: int = 30
    seconds: float = 2.0
    patience: float = 600.0


QUICK = Plan(4, 0.5, 60.0)


@dataclass(frozen=True)
class One:
    """One thread of one run, in nanoseconds."""

    wall: int
    cpu: int
    truth: int
    by_processor: int
    by_machine: int


def _unplaced(recording: Recording) -> Recording:
    nowhere = np.full(len(recording.samples), -1, np.int32)
    return replace(recording, samples=replace(recording.samples, processor=nowhere))


def _run(processors: list[int], seconds: float, scratch: Path) -> list[One]:
    path = scratch / "steal.sonde"
    done = subprocess.run(
        [
            sonde(), "run", "-o", str(path), "--what", "cpu,threads", "--",
            sys.executable, str(PROGRAM), str(seconds), ",".join(map(str, processors)),
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    told, recording = json.loads(done.stdout.splitlines()[-1]), read(path)
    placed, unplaced = (by_thread(made)["hypervisor"] for made in (recording, _unplaced(recording)))
    path.unlink()
    return [
        One(
            its["wall_ns"], its["cpu_ns"], its["wall_ns"] - its["cpu_ns"] - its["delay_ns"],
            int(placed[row]), int(unplaced[row]),
        )
        for row, name in enumerate(recording.threads.name)
        if (its := told.get(name)) is not None and not its["waits"]
    ]  # fmt: skip


def _figure(runs: list[list[One]], way: str) -> Figure:
    """By how much of its CPU time a thread's is wrong, on average; runs are drawn anew."""
    wrong = np.array([sum(abs(getattr(one, way) - one.truth) for one in run) for run in runs])
    cpu = np.array([sum(one.cpu for one in run) for run in runs])
    return _drawn(wrong, cpu)


def _in_all(runs: list[list[One]], way: str) -> Figure:
    """By how much of the steal time its sum over all threads is wrong."""
    given = np.array([sum(getattr(one, way) for one in run) for run in runs])
    truth = np.array([sum(one.truth for one in run) for run in runs])
    return _drawn(given - truth, truth)


def _drawn(part: Column, whole: Column) -> Figure:
    random = np.random.default_rng(0)
    picks = random.integers(0, len(part), (DRAWS, len(part)))
    drawn = part[picks].sum(axis=1) / np.maximum(whole[picks].sum(axis=1), 1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Figure(float(part.sum() / max(whole.sum(), 1)), float(low), float(high))


def report(section: Section, scratch: Path, quick: bool) -> None:
    plan = QUICK if quick else Plan()
    processors = sorted(os.sched_getaffinity(0))
    until, runs = time.monotonic() + plan.patience, list[list[One]]()
    while len(runs) < plan.runs and time.monotonic() < until:
        if not (run := _run(processors, plan.seconds, scratch)):
            continue
        runs.append(run)
        say(f"steal: run {len(runs)}, {sum(one.truth for one in runs[-1]) / 1e6:.0f} ms taken")
    every = [one for run in runs for one in run]
    truth, wall = (sum(getattr(one, of) for one in every) for of in ("truth", "wall"))
    rows = []
    for way, name in (("by_processor", "by processor"), ("by_machine", "by CPU time alone")):
        rows.append(
            [
                name,
                f"{sum(getattr(one, way) for one in every) / 1e6:.0f} ms",
                percent(_in_all(runs, way), 1),
                percent(_figure(runs, way)),
            ]
        )
    owned = sum(one.cpu + one.truth for one in every) / wall
    section.table(
        f"{len(runs)} runs of {plan.seconds:g} s of CPU time, {len(every)} threads on "
        f"{len(processors)} processors, which had {owned:.0%} of them; "
        f"{truth / 1e6:.0f} ms of steal time in truth",
        ["divided", "steal time", "wrong in all, of it", "wrong, of a thread's CPU time"],
        rows,
    )
    if truth < ENOUGH_NS:
        section.say(
            f"Too little was taken to judge: {truth / 1e6:.0f} ms of {wall / 1e9:.0f} s. What is "
            "wrong by ticks of 10 ms is most of these figures."
        )
        return
    figure = _figure(runs, "by_processor")
    section.goals(
        [
            measured_verdict(
                "steal time, of a thread's CPU time", figure.times(100), 100 * GOAL, "%",
                percent(figure),
            )
        ]
    )  # fmt: skip
