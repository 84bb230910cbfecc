"""What recording a Java program costs it: slices with and without sonde in one JVM.

What is compared is the CPU time of the working thread for a piece of work. As in worker.py the
conditions take turns, in an order drawn anew for every round: one session of sonde sampling, the
same one paused, and paused beside an empty timer at its rate. JFR cannot be paused, and starting it
takes a while: of it there are a few pairs of long slices.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import jvms, kept
from harness.floor import EmptyTimer
from harness.paired import Column, geometric_mean, median, overhead, rounds_of
from harness.progress import say
from harness.turns import Floor, Off, Switch, in_turns
from publish.markdown import Section, measured_verdict, percent

if TYPE_CHECKING:
    from sonde.record.control_client import ControlClient

PROGRAMS = ("numbers", "calls", "objects", "sorting", "deep")
RATES = (1000, 10_000)
CONDITIONS = ("sonde", "timer")
SLICE_S = 0.02
SETTLE_S = 0.015
LONG_SLICE_S = 1.5
JUDGED_RATE, GOAL = 1000, 2.0

# Hofer, Method Profiling and Lock Contention Profiling on the Java Virtual Machine Level: stack
# fragment sampling, by the interval between samples.
HOFER = "Hofer's stack fragment sampling: 1 % at 10 ms, 2.1 % at 1 ms, 9.7 % at 0.1 ms."


@dataclass
class Plan:
    rounds: int = 300
    """Of short slices, for each rate."""
    pairs: int = 4
    """Of long slices, without and with JFR."""


QUICK = Plan(20, 1)


class Session:
    """A session that is paused and goes on, as a condition."""

    def __init__(self, orders: ControlClient) -> None:
        self._orders = orders

    def on(self) -> None:
        self._orders.give({"do": "resume"})

    def off(self) -> None:
        self._orders.give({"do": "pause"})


def _sampled(it: jvms.Running, rate: int, rounds: int, path: Path) -> dict[str, Any]:
    """Rounds as worker.py tells of them, and how many samples there were and failed."""
    from sonde.recording.reader import read

    chance = random.Random(rate)

    def settle() -> None:
        time.sleep(SETTLE_S + chance.random() / rate)

    def timed() -> tuple[float, float]:
        piece = it.slice(SLICE_S)
        return piece, piece

    with jvms.sonde(it.pid, rate, path) as orders:
        session = Session(orders)
        timer = EmptyTimer(rate, it.pid)
        switches: dict[str, Switch] = {
            "off": Off(session),
            "timer": Floor(timer, session),
            "sonde": session,
        }
        answer = in_turns(switches, settle, timed, chance, rounds, 0)
    quality = read(path).quality
    failed = quality["undecodable"] + quality["lost"]
    return {**answer, "taken": quality["taken"], "failed": failed}


def _by_jfr(home: Path, it: jvms.Running, pairs: int, path: Path) -> list[float]:
    """How much longer a piece took in each slice than in those before and after it."""
    costs = []
    before = it.slice(LONG_SLICE_S)
    for _ in range(pairs):
        with jvms.jfr(home, it.pid, path):
            during = it.slice(LONG_SLICE_S)
        after = it.slice(LONG_SLICE_S)
        costs.append(2 * during / (before + after) - 1)
        before = after
    return costs


def _measured(
    home: Path, version: str, classes: Path, program: str, plan: Plan, scratch: Path
) -> dict[str, Any]:
    def measure() -> dict[str, Any]:
        say(f"hotspot: {version} {program}")
        path = scratch / "hotspot.recording"
        with jvms.running(home / "bin" / "java", classes, program) as it:
            sampled = {f"{rate}": _sampled(it, rate, plan.rounds, path) for rate in RATES}
            # Last: what it has instrumented stays so.
            return {"sampled": sampled, "jfr": _by_jfr(home, it, plan.pairs, path)}

    answer: dict[str, Any] = kept.result("hotspot", version, program, measure=measure)
    return answer


class Costs:
    """Of one program: a column of ratios for each rate and condition, and beside them."""

    def __init__(self, answer: dict[str, Any]) -> None:
        sampled = {rate: answer["sampled"][f"{rate}"] for rate in RATES}
        rounds = {rate: rounds_of(told, rate) for rate, told in sampled.items()}
        self.ratios: dict[tuple[int, str], Column] = {
            (rate, condition): overhead(rounds[rate].cpu, condition)
            for rate in RATES
            for condition in CONDITIONS
        }
        self.jfr = statistics.median(answer["jfr"])
        self.failed = [
            f"{100 * told['failed'] / max(told['taken'], 1):.2f} %" for told in sampled.values()
        ]
        counts = [f"{one.count}" + (" (disturbed)" if one.noisy else "") for one in rounds.values()]
        self.rounds = " / ".join(counts)


def report(section: Section, quick: bool) -> None:
    homes = jvms.homes()
    if not homes:
        section.say("There is no JDK on this machine.")
        return
    plan, programs = (QUICK, PROGRAMS[1:2]) if quick else (Plan(), PROGRAMS)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for home, version in homes.items():
            classes = jvms.compiled(home, "Paced", scratch / version)
            costs = {
                program: Costs(_measured(home, version, classes, program, plan, scratch))
                for program in programs
            }
            lines.append(_table(section, version, costs))
    section.goals(lines)
    section.say(HOFER)


def _table(section: Section, version: str, costs: dict[str, Costs]) -> str:
    """One JDK's; the line about the goal is returned."""
    columns = list(next(iter(costs.values())).ratios)
    rows = [
        [
            program,
            *(percent(median(cost.ratios[column])) for column in columns),
            f"{100 * cost.jfr:+.1f} %",
            *cost.failed,
            cost.rounds,
        ]
        for program, cost in costs.items()
    ]
    means = {
        column: geometric_mean([cost.ratios[column] for cost in costs.values()])
        for column in columns
    }
    jfr = float(np.expm1(np.mean([np.log1p(cost.jfr) for cost in costs.values()])))
    told = [percent(mean) for mean in means.values()]
    rows.append(["**geometric mean**", *told, f"{100 * jfr:+.1f} %", "", "", ""])
    names = {"sonde": "sonde", "timer": "empty timer"}
    head = ["program", *(f"{names[name]} {rate // 1000} kHz" for rate, name in columns)]
    head += ["JFR profile", *(f"failed {rate // 1000} kHz" for rate in RATES), "rounds"]
    section.table(f"CPU time a piece of work takes more on JDK {version}", head, rows)
    judged = means[JUDGED_RATE, "sonde"]
    return measured_verdict(
        f"overhead at {JUDGED_RATE} Hz, JDK {version}", judged.times(100), GOAL, "%",
        percent(judged),
    )  # fmt: skip
