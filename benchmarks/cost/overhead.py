"""What a running profiler costs the program: paired slices inside one process."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import kept, peers
from harness.packages import SOURCE, Environment
from harness.paired import (
    Column,
    Figure,
    Rounds,
    above_us,
    geometric_mean,
    mean,
    median,
    overhead,
    rounds_of,
)
from harness.progress import say
from publish.markdown import Section, measured_verdict, micro, percent
from workloads import programs

HARNESS = Path(__file__).resolve().parents[1] / "harness"
# The shorter they are, the better do slices in a row agree; but one should hold a sample or more.
SLICES_S = {100: 0.015, 1000: 0.008, 10_000: 0.004}
MAX_SLICE_S = 0.3
ATTACHED_SLICE_S = 0.3
GOALS = {100: 0.003, 1000: 0.015, 10_000: 0.12}
ABOVE_FLOOR_US = 2.5
CALLS_GOAL = 0.005
PEER_PROGRAMS = ("richards", "deltablue", "json", "deep")


@dataclass
class Plan:
    """How long to measure one program under one profiler."""

    seconds: float
    least: int = 5
    """Rounds, however long they take."""


def slice_s(program: str, rate: int) -> float:
    """A slice in which every thread's timer ticks."""
    return max(SLICES_S[rate], 1.5 / rate * programs.SHARED_BY.get(program, 1))


def run_worker(
    env: Environment, program: str, conditions: list[str], rate: int, plan: Plan, **more: Any
) -> dict[str, Any]:
    job = {
        "program": program,
        "conditions": conditions,
        "rate": rate,
        "what": "cpu",
        "slice": slice_s(program, rate),
        "seconds": plan.seconds,
        "least": plan.least,
        "seed": rate,
        "source": str(SOURCE),
        "recorder": sys.executable,
        **more,
    }
    own = {key: value for key, value in job.items() if key not in ("source", "recorder", "tools")}
    answer: dict[str, Any] = kept.result(
        "slices", env.version, program, f"{rate}Hz", *conditions,
        measure=lambda: answered(env, "worker.py", job), **own,
    )  # fmt: skip
    return answer


def answered(env: Environment, worker: str, job: dict[str, Any]) -> Any:
    """What a script of the harness has to say to a job, run by that interpreter."""
    done = subprocess.run(
        [env.python, str(HARNESS / worker), json.dumps(job)],
        env=env.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(lines[-1])
    return json.loads(done.stdout)


@dataclass
class Measured:
    program: str
    rounds: Rounds
    quality: dict[str, Any]

    def overhead(self, condition: str) -> Column:
        return overhead(self.rounds.cpu, condition)

    def wall_overhead(self, condition: str) -> Column:
        return overhead(self.rounds.wall, condition)

    def handler_us(self) -> float:
        taken = self.quality.get("taken", 0)
        return self.quality.get("agent_cpu_ns", 0) / taken / 1e3 if taken else 0.0


def measure(env: Environment, names: list[str], rate: int, plan: Plan) -> list[Measured]:
    done = []
    for name in names:
        say(f"overhead: {name}, {rate} Hz, Python {env.version}")
        try:
            answer = run_worker(env, name, ["off", "floor", "sonde"], rate, plan)
        except RuntimeError as error:
            say(f"  left out: {error}")
            continue
        rounds = rounds_of(answer, rate)
        done.append(Measured(name, rounds, answer["quality"]))
    return done


def of_sonde(section: Section, env: Environment, names: list[str], plans: dict[int, Plan]) -> None:
    """One table per rate, then the geometric means against the goals."""
    names = [name for name in names if env.runs(name)]
    lines = []
    for rate, plan in plans.items():
        # So few slices of that length fit in that time would only blur the mean.
        short = [name for name in names if slice_s(name, rate) < MAX_SLICE_S]
        measured = measure(env, short, rate, plan)
        if not measured:
            continue
        rows = [_row(m) for m in measured]
        measured = [m for m in measured if m.program not in programs.APART] or measured
        total = geometric_mean([m.overhead("sonde") for m in measured])
        floor = geometric_mean([m.overhead("floor") for m in measured])
        wall = geometric_mean([m.wall_overhead("sonde") for m in measured])
        above = mean([above_us(m.rounds, "sonde", "floor") for m in measured])
        handler = sum(m.handler_us() for m in measured) / len(measured)
        rows.append(
            [
                "**geometric mean**",
                percent(total),
                percent(floor),
                percent(wall),
                micro(above),
                f"{handler:.1f}",
                "",
            ]
        )
        head = ["program", "sonde, CPU", "empty timer, CPU", "sonde, wall"]
        head += ["µs a sample above it", "in the handler", "rounds"]
        section.table(f"{rate} Hz, Python {env.version}", head, rows)
        goal = GOALS[rate]
        lines.append(
            measured_verdict(
                f"overhead at {rate} Hz", total.times(100), 100 * goal, "%", percent(total)
            )
        )
        lines.append(
            measured_verdict(
                f"above the empty timer at {rate} Hz",
                above,
                ABOVE_FLOOR_US,
                "µs a sample",
                micro(above),
            )
        )
    section.goals(lines)


def _row(measured: Measured) -> list[str]:
    rounds = measured.rounds
    note = f"{rounds.count}" + (" (disturbed)" if rounds.noisy else "")
    return [
        measured.program,
        percent(median(measured.overhead("sonde"))),
        percent(median(measured.overhead("floor"))),
        percent(median(measured.wall_overhead("sonde"))),
        micro(median(above_us(rounds, "sonde", "floor"))),
        f"{measured.handler_us():.1f}",
        note,
    ]


def of_parts(section: Section, env: Environment, names: list[str], plans: dict[int, Plan]) -> None:
    """Where the cost of a sample goes: the timer, the kernel's signal, sonde itself."""
    rows = []
    for rate, plan in plans.items():
        parts: dict[tuple[str, str], list[Column]] = {}
        for name in names:
            say(f"parts: {name}, {rate} Hz, Python {env.version}")
            conditions = ["off", "floor", "signal", "sonde"]
            try:
                answer = run_worker(env, name, conditions, rate, plan)
            except RuntimeError as error:
                say(f"  left out: {error}")
                continue
            rounds = rounds_of(answer, rate)
            for base, condition in itertools.pairwise(conditions):
                column = above_us(rounds, condition, base)
                parts.setdefault((base, condition), []).append(column)
        if parts:
            rows.append([f"{rate}", *[micro(mean(columns)) for columns in parts.values()]])
    head = ["Hz", "timer alone", "+ a signal to an empty handler", "+ sonde's handler"]
    section.table(f"µs of CPU time a sample, by part ({', '.join(names)})", head, rows)


def of_versions(section: Section, envs: list[Environment], names: list[str], plan: Plan) -> None:
    """The same at 1 kHz on every interpreter, with fewer programs."""
    rate = 1000
    rows = []
    for env in envs:
        measured = measure(env, [name for name in names if env.runs(name)], rate, plan)
        if not measured:
            continue
        rows.append(
            [
                env.version,
                percent(geometric_mean([m.overhead("sonde") for m in measured])),
                percent(geometric_mean([m.overhead("floor") for m in measured])),
                micro(mean([above_us(m.rounds, "sonde", "floor") for m in measured])),
            ]
        )
    head = ["Python", "sonde, CPU", "empty timer, CPU", "µs a sample above it"]
    section.table(f"{rate} Hz on each version ({', '.join(names)})", head, rows)


def of_peers(
    section: Section,
    envs: dict[str, Environment],
    tools: peers.Tools,
    missing: dict[str, str],
    plan: Plan,
    rate: int,
    names: list[str],
) -> None:
    """Each on the version it supports; sonde on the same ones, for comparison."""
    rows = []
    for peer in ("sonde", *peers.IN_PROCESS, *peers.OUT_OF_PROCESS):
        env = envs.get(peers.version_for(peer))
        if env is None or (peer in peers.OUT_OF_PROCESS and peer.split()[0] not in tools):
            continue
        if peer == "pyinstrument" and not env.has("pyinstrument"):
            missing["pyinstrument"] = env.missing.get("pyinstrument", "not installed")
            continue
        row = [f"{peer} (Python {env.version})"]
        cpus: list[Column] = []
        walls: list[Column] = []
        for name in names:
            say(f"peers: {peer}, {name}, {rate} Hz, Python {env.version}")
            cpu, wall = _peer_rounds(env, name, peer, rate, plan, tools)
            if cpu is None or wall is None:
                row.append("–")
                continue
            cpus.append(cpu)
            walls.append(wall)
            row.append(_both(median(cpu), median(wall)))
        row.append(_both(geometric_mean(cpus), geometric_mean(walls)) if cpus else "–")
        rows.append(row)
    head = ["profiler", *names, "geometric mean"]
    section.table(f"{rate} Hz, CPU time / wall time", head, rows)
    for peer, why in missing.items():
        section.say(f"Left out: {peer} ({why}).")


def _peer_rounds(
    env: Environment, name: str, peer: str, rate: int, plan: Plan, tools: peers.Tools
) -> tuple[Column | None, Column | None]:
    more: dict[str, Any] = {"tools": tools}
    if peer in peers.OUT_OF_PROCESS:
        more["slice"] = ATTACHED_SLICE_S  # attaching takes far longer than a slice
    try:
        answer = run_worker(env, name, ["off", peer], rate, plan, **more)
    except RuntimeError as error:
        say(f"  left out: {error}")
        return None, None
    rounds = rounds_of(answer, rate)
    return overhead(rounds.cpu, peer), overhead(rounds.wall, peer)


def _both(cpu: Figure, wall: Figure) -> str:
    return f"{_times(cpu.value)} / {_times(wall.value)}"


def _times(value: float) -> str:
    return f"{100 * value:+.1f} %" if value < 1 else f"{1 + value:.1f}×"
