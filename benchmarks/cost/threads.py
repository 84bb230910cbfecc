"""What recording costs a program of a thousand threads, most of which wait for the GIL.

Such a program is at the edge by itself: each waiting thread wakes up every 5 ms, which takes a
core, and whatever makes a turn longer makes more of these wake-ups. So runs of all conditions
alternate, and only runs of one round are compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cost.opening import sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section

PROGRAM = Path(__file__).resolve().parents[1] / "workloads" / "many_threads.py"
PLAIN = "plain"
DEFAULT = "cpu,locks"
CONDITIONS = (PLAIN, "cpu", DEFAULT, "cpu,waits,locks")
STARTS = ("sleep", "event")
GOAL = 1.3


@dataclass(frozen=True)
class Plan:
    threads: Sequence[int] = (100, 1000)
    turns: int = 20
    rounds: int = 7


QUICK = Plan((1000,), 5, 2)


@dataclass(frozen=True)
class Once:
    wall: float
    cpu: float
    recorder_cpu: float
    lost: int


def _once(env: Environment, condition: str, job: Sequence[str], scratch: Path) -> Once:
    command = [env.python, str(PROGRAM), *job]
    file = scratch / "threads.sonde"
    if condition != PLAIN:
        command = [sonde(), "run", "--what", condition, "-o", str(file), "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    if condition == PLAIN:
        return Once(told["wall"], told["cpu"], 0.0, 0)
    quality = json.loads(
        subprocess.run(
            [sonde(), "report", str(file), "quality", "--json"],
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    file.unlink()
    return Once(
        told["wall"], told["cpu"], quality.get("recorder_cpu_ns", 0) / 1e9,
        quality.get("events_lost", 0),
    )  # fmt: skip


def _ratio(runs: dict[str, list[Once]], condition: str, of: str) -> float:
    """The median over rounds of what a run took, as a multiple of the plain one of its round."""
    pairs = zip(runs[condition], runs[PLAIN], strict=True)
    return statistics.median(getattr(one, of) / getattr(plain, of) for one, plain in pairs)


def report(section: Section, env: Environment, plan: Plan, scratch: Path) -> None:
    lines = []
    for start in STARTS:
        rows: list[tuple[str, ...]] = []
        for threads in plan.threads:
            runs: dict[str, list[Once]] = {condition: [] for condition in CONDITIONS}
            for number in range(plan.rounds):
                for condition in CONDITIONS:
                    say(f"threads: {threads}, {start}, {condition}, round {number + 1}")
                    job = (str(threads), str(plan.turns), start)
                    runs[condition].append(_once(env, condition, job, scratch))
            rows += [_row(threads, condition, runs) for condition in CONDITIONS]
            wall, cpu = (_ratio(runs, DEFAULT, of) for of in ("wall", "cpu"))
            if threads == max(plan.threads):
                met = "met" if max(wall, cpu) <= GOAL else "not met"
                lines.append(
                    f"{threads:,} threads, {start}, {DEFAULT}: {wall:.2f} times the time, "
                    f"{cpu:.2f} times the CPU time (goal {GOAL}): {met}"
                )
        head = ("threads", "recorded", "time", "CPU time", "wall", "recorder's CPU", "lost")
        section.table(
            f"Threads that begin by {start}, compute and sleep in turns; Python {env.version}, "
            f"medians of {plan.rounds} rounds, ratios to the plain run of the same round",
            head,
            rows,
        )
    section.goals(lines)


def _row(threads: int, condition: str, runs: dict[str, list[Once]]) -> tuple[str, ...]:
    of = runs[condition]
    return (
        f"{threads:,}",
        condition,
        f"{_ratio(runs, condition, 'wall'):.2f}",
        f"{_ratio(runs, condition, 'cpu'):.2f}",
        f"{statistics.median(one.wall for one in of):.2f} s",
        f"{statistics.median(one.recorder_cpu for one in of):.2f} s",
        f"{statistics.median(one.lost for one in of):,.0f}",
    )
