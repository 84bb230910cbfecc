"""What recording locks costs: alone, in programs of one thread, in programs that fight."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cost.overhead import Plan
from harness.packages import SOURCE, Environment
from harness.paired import Column, Rounds, geometric_mean, median, overhead, rounds_of
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent
from workloads import contended

WORKER = Path(__file__).resolve().parents[1] / "harness" / "hooks.py"
ALONE_SLICE_S = 0.006
SINGLE_SLICE_S = 0.012
CONTENDED_SLICE_S = 0.4
CONTENDED_SETTLE_S = 0.4
PAIR_GOAL_NS = 3.0
SINGLE_GOAL = 0.01
MEDIAN_GOAL = 0.05
WORST_GOAL = 0.15
HOFER = 0.078
"""Hofer's mean over contended benchmarks on HotSpot, with both call chains (dissertation, 4.4)."""


@dataclass
class Measured:
    program: str
    rounds: Rounds
    answer: dict[str, Any]

    def ratios(self, condition: str, *, wall: bool = False, base: str = "off") -> Column:
        return overhead(self.rounds.wall if wall else self.rounds.cpu, condition, base)

    def each_ns(self) -> Column:
        """Per round, nanoseconds that one pair or cycle takes longer."""
        count = contended.ALONE[self.program][1] * self.answer["calls"]
        return (self.rounds.cpu["hooks"] - self.rounds.cpu["session"]) / count

    @property
    def recorded_s(self) -> float:
        """With what went before each slice, which is recorded, too."""
        slices = [wall for _, name, _, wall in self.answer["slices"] if name == "locks"]
        return sum(slices) / 1e9 + len(slices) * CONTENDED_SETTLE_S

    def note(self) -> str:
        return f"{self.rounds.count}" + (" (disturbed)" if self.rounds.noisy else "")


def _measure(
    env: Environment,
    name: str,
    slice_s: float,
    plan: Plan,
    conditions: tuple[str, ...],
    settle_s: float = 0.0,
) -> Measured | None:
    say(f"locks: {name}, Python {env.version}")
    job = {
        "program": name,
        "conditions": conditions,
        "rate": 1000,
        "slice": slice_s,
        "settle": settle_s,
        "seconds": plan.seconds,
        "least": plan.least,
        "seed": 1,
        "source": str(SOURCE),
        "recorder": sys.executable,
    }
    done = subprocess.run(
        [env.python, str(WORKER), json.dumps(job)],
        env=env.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        say(f"  left out: {lines[-1]}")
        return None
    answer = json.loads(done.stdout)
    return Measured(name, rounds_of(answer, 1000), answer)


def of_alone(section: Section, envs: list[Environment], plan: Plan) -> None:
    """A lock that nobody else wants, and a GIL that nobody else wants."""
    rows, lines = [], []
    for env in envs:
        row = [env.version]
        for name, (_, count) in contended.ALONE.items():
            found = _measure(env, name, ALONE_SLICE_S, plan, ("off", "session", "hooks"))
            if found is None:
                row += ["–", "–"]
                continue
            figure = median(found.each_ns())
            base = median(found.rounds.cpu["off"] / (count * found.answer["calls"]))
            text = f"{figure.value:+.1f} [{figure.low:+.1f}, {figure.high:+.1f}]"
            row += [f"{base.value:.0f}", text]
            if name == "acquire and release":
                what = f"uncontended pair, Python {env.version}"
                lines.append(measured_verdict(what, figure, PAIR_GOAL_NS, "ns", f"{text} ns"))
        rows.append(row)
    head = ["Python", "acquire and release, ns", "with sonde"]
    head += ["GIL let go and taken, ns", "with sonde"]
    section.table("Uncontended: ns of CPU time, and how much longer with hooks", head, rows)
    section.goals(lines)


def of_single(section: Section, env: Environment, names: list[str], plan: Plan) -> None:
    """Programs of one thread: nobody waits, so it should cost nothing.

    What the hooks cost is told by a session without them, which begins and ends the same way.
    """
    rows, lines, columns = [], [], []
    for name in names:
        if not env.runs(name):
            continue
        found = _measure(env, name, SINGLE_SLICE_S, plan, ("off", "session", "hooks"))
        if found is None:
            continue
        column = found.ratios("hooks", base="session")
        columns.append(column)
        figure = median(column)
        session = median(found.ratios("session"))
        rows.append([name, percent(figure), percent(session), found.note()])
        if figure.low > SINGLE_GOAL:
            lines.append(f"{name}: {percent(figure)} (goal 1 %): **missed**")
    if not columns:
        return
    total = geometric_mean(columns)
    rows.append(["**geometric mean**", percent(total), "", ""])
    title = f"Programs of one thread, CPU time, Python {env.version}"
    section.table(title, ["program", "hooks", "a session without", "rounds"], rows)
    lines.append(
        measured_verdict("one thread, mean", total.times(100), 1.0, "%", percent(total))
        if not lines
        else f"{len(lines)} of {len(columns)} above 1 %"
    )
    section.goals(lines)


def of_contended(section: Section, envs: list[Environment], plan: Plan, beside: Plan) -> None:
    """Programs that fight, and how much there is to write.

    What has a goal is measured for itself, in more rounds than what stands `beside` it: slices of
    such programs differ by a third from each other, whatever is recorded.
    """
    rows, values = [], []
    for env in envs:
        for name in contended.PROGRAMS:
            arguments = (env, name, CONTENDED_SLICE_S)
            found = _measure(*arguments, plan, ("off", "locks"), CONTENDED_SETTLE_S)
            others = _measure(*arguments, beside, ("off", "floor", "default"), CONTENDED_SETTLE_S)
            if found is None or others is None:
                continue
            cpu = median(found.ratios("locks"))
            wall = median(found.ratios("locks", wall=True))
            timer = median(others.ratios("floor", wall=True))
            both = median(others.ratios("default", wall=True))
            quality = found.answer["quality"]
            events = quality["lock_events"] / found.recorded_s
            volume = quality["bytes"] / found.recorded_s / 1000
            values.append(wall)
            rows.append(
                [
                    f"{name}, {env.version}",
                    percent(wall, 1),
                    percent(cpu, 1),
                    percent(timer, 1),
                    percent(both, 1),
                    f"{events:,.0f}",
                    f"{volume:,.0f}",
                    f"{quality['lock_events_lost']:,}",
                    found.note(),
                ]
            )
    head = ["program, Python", "wall time", "CPU time", "wall, empty timer at 1 kHz"]
    head += ["wall, with samples at 1 kHz", "lock events a second", "kB a second", "lost", "rounds"]
    section.table(f"Programs of {contended.THREADS} threads that wait for each other", head, rows)
    if not values:
        return
    shares = sorted(figure.value for figure in values)
    middle, worst = shares[len(shares) // 2], max(values, key=lambda figure: figure.value)
    section.goals(
        [
            f"contended, median: {100 * middle:.1f} % (goal {100 * MEDIAN_GOAL:g} %): "
            + ("met" if middle <= MEDIAN_GOAL else "**missed**"),
            measured_verdict(
                "contended, worst", worst.times(100), 100 * WORST_GOAL, "%", percent(worst, 1)
            ),
            f"beside it: Hofer's HotSpot agent took {100 * HOFER:.1f} % on average",
        ]
    )


def report(
    section: Section, envs: list[Environment], main: Environment, names: list[str], quick: bool
) -> None:
    of_alone(section, envs, Plan(2 if quick else 8))
    of_single(section, main, names, Plan(3 if quick else 14))


def report_contended(
    section: Section, envs: list[Environment], main: Environment, quick: bool
) -> None:
    plan, beside = (Plan(6 if quick else seconds, 3) for seconds in (45, 18))
    of_contended(section, [main] if quick else envs, plan, beside)
