"""What recording the tasks of event loops costs, beside asyncio's debug mode and yappi."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cost.opening import cost_of, sonde
from harness.packages import SOURCE
from harness.paired import Column, median
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent

if TYPE_CHECKING:
    from harness.packages import Environment
    from harness.paired import Figure

PACKAGES = ("uvloop", "yappi")
GOAL = 0.03
STEP_GOAL_US = 1.0
TASKS = "sonde, tasks"
CONDITIONS = ("off", "sonde, default", TASKS, "asyncio debug")
LOOPS = ("asyncio", "uvloop")
PROGRAMS = ("echo", "gather")
WORKER = Path(__file__).parents[1] / "harness" / "loops_worker.py"
AWAITING = Path(__file__).parents[2] / "tests" / "truth" / "programs" / "awaiting.py"
TIMEOUT_S = 1800


@dataclass(frozen=True)
class Plan:
    blocks: int
    seconds: float


def report(
    section: Section, envs: list[Environment], plan: Plan, looked: list[Environment]
) -> None:
    lines: list[str] = []
    for env in envs:
        rows: list[list[str]] = []
        for loop in LOOPS:
            if loop == "uvloop" and not env.has("uvloop"):
                continue
            for program in PROGRAMS:
                say(f"loops: {program} on {loop}, Python {env.version}")
                try:
                    rows.append(_row(env, program, loop, plan, lines))
                except RuntimeError as error:
                    say(f"  left out: {error}")
        head = ["program", "CPU of an operation", *CONDITIONS[1:], "yappi", "a callback", "blocks"]
        section.table(f"Tasks of event loops, Python {env.version}", head, rows)
    section.goals(lines)
    _looks(section, looked)


def _row(env: Environment, program: str, loop: str, plan: Plan, lines: list[str]) -> list[str]:
    conditions = [*CONDITIONS, *(["yappi"] if env.has("yappi") else [])]
    job: dict[str, Any] = {
        "program": program,
        "loop": loop,
        "blocks": plan.blocks,
        "seconds": plan.seconds,
        "conditions": conditions,
        "source": str(SOURCE),
        "recorder": sys.executable,
    }
    done = subprocess.run(
        [env.python, str(WORKER), json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(env.folder), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    ns: dict[str, Column] = {
        condition: np.array([n for _, one, n in answer["slices"] if one == condition])
        for condition in conditions
    }
    base = ns["off"]
    ratios = {one: median(ns[one] / base - 1) for one in conditions[1:]}
    step = "not counted"
    if answer["steps"]:
        figure = median((ns[TASKS] - base) / 1e3 / answer["steps"])
        step = microseconds(figure)
        lines.append(
            measured_verdict(
                f"a callback, {program}, Python {env.version}", figure, STEP_GOAL_US, "µs", step
            )
        )
    if program == "echo":
        lines.append(
            measured_verdict(
                f"echo server on {loop}, Python {env.version}",
                ratios[TASKS].times(100), 100 * GOAL, "%", percent(ratios[TASKS]),
            )
        )  # fmt: skip
    told = [
        percent(ratios[one]) if one in ratios else "not here" for one in (*CONDITIONS[1:], "yappi")
    ]
    return [
        f"{program}, {loop}", f"{np.median(base) / 1e3:.1f} µs", *told, step, str(plan.blocks),
    ]  # fmt: skip


def microseconds(figure: Figure) -> str:
    return f"{figure.value:.2f} µs [{figure.low:.2f}, {figure.high:.2f}]"


def _looks(section: Section, envs: list[Environment]) -> None:
    """Seconds of one look at a program that hangs; it runs nothing for any of them."""
    rows = []
    for env in envs:
        target = subprocess.Popen(
            [env.python, str(AWAITING), "waiting"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert target.stdout is not None
        pid = target.stdout.readline().strip()
        time.sleep(1)
        commands = {"sonde waits": [sonde(), "waits", pid]}
        if tuple(map(int, env.version.split("."))) >= (3, 14):
            commands |= {
                f"asyncio {name}": [env.python, "-m", "asyncio", name, pid]
                for name in ("ps", "pstree")
            }
        for name, command in commands.items():
            try:
                rows.append([f"{name}, {env.version}", f"{cost_of(command).seconds:.2f}"])
            except RuntimeError:
                rows.append([f"{name}, {env.version}", "ends with an error"])
        target.kill()
        target.communicate()
    section.table("One look at the tasks of a program that hangs", ["command", "seconds"], rows)
