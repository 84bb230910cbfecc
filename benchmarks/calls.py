"""Counted calls: what windows cost, and how much of the true call graph they find."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import overhead
from markdown import Section, measured_verdict, percent
from overhead import Plan, run_worker
from packages import Environment
from paired import Column, Figure, median, rounds_of, timer_overhead
from progress import say

HERE = Path(__file__).resolve().parent
COUNTER = HERE.parent / "tests" / "truth" / "programs" / "count_calls.py"
TICKS = 100
OVERHEAD_BOUND = 0.005
OVERLAP_BOUNDS = {"richards": 0.95, "raytrace": 0.95, "deltablue": 0.90}
MEAN_OVERLAP_BOUND = 0.90
# Programs in one thread, whose rounds are all alike.
PROGRAMS = (
    "richards", "deltablue", "raytrace", "go", "json", "nbody", "chaos", "hexiom", "deepcopy",
    "sqlglot", "django_template", "deep",
)  # fmt: skip
STRIDES = (1, 3, 7, 15)
SAMPLES = (1, 8, 16, 32, 64)

Edge = tuple[str, int, str]
Shares = dict[Edge, float]


def of_programs(
    section: Section, env: Environment, names: list[str], plan: Plan, seconds: float, scratch: Path
) -> None:
    """Overhead at the usual windows, and overlap with all calls, by program."""
    rows = []
    costs: list[Column] = []
    overlaps: dict[str, float] = {}
    for name in names:
        if not env.runs(name):
            continue
        try:
            cost = _cost(env, name, plan)
            found, windows = overlap(env, name, seconds, scratch)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            say(f"  left out: {error}")
            continue
        costs.append(cost)
        overlaps[name] = found
        rows.append([name, percent(median(cost)), f"{100 * found:.1f} %", f"{windows:,}"])
    head = ["program", "overhead, CPU", "overlap", "windows"]
    section.table(f"{TICKS} windows a second, Python {env.version}", head, rows)
    if not costs:
        return
    middle = _middle(costs)
    lines = [
        measured_verdict(
            "overhead, median of the programs", middle.times(100), 100 * OVERHEAD_BOUND, "%",
            percent(middle),
        )
    ]  # fmt: skip
    lines += [
        _at_least(f"overlap on {name}", overlaps[name], bound)
        for name, bound in OVERLAP_BOUNDS.items()
        if name in overlaps
    ]
    mean = sum(overlaps.values()) / len(overlaps)
    lines.append(_at_least(f"mean overlap of {len(overlaps)} programs", mean, MEAN_OVERLAP_BOUND))
    section.bounds(lines)


def of_versions(
    section: Section,
    envs: list[Environment],
    names: list[str],
    plan: Plan,
    seconds: float,
    scratch: Path,
) -> None:
    rows = []
    for env in envs:
        costs, overlaps = [], []
        for name in names:
            try:
                costs.append(_cost(env, name, plan))
                overlaps.append(overlap(env, name, seconds, scratch)[0])
            except (RuntimeError, subprocess.CalledProcessError) as error:
                say(f"  left out: {error}")
        if costs:
            cells = [f"{100 * found:.1f} %" for found in overlaps]
            rows.append([env.version, percent(_middle(costs)), *cells])
    head = ["Python", "overhead, CPU", *[f"overlap, {name}" for name in names]]
    section.table("On each version", head, rows)


def of_parameters(
    section: Section, env: Environment, names: list[str], plan: Plan, seconds: float, scratch: Path
) -> None:
    """Overhead / accuracy by stride and samples, as in Arnold & Grove's Table 2."""
    rows = []
    for samples in SAMPLES:
        row = [f"{samples}"]
        for stride in STRIDES:
            chosen = {"stride": stride, "samples": samples}
            costs = [_cost(env, name, plan, **chosen) for name in names]
            found = [overlap(env, name, seconds, scratch, **chosen)[0] for name in names]
            row.append(
                f"{100 * _middle(costs).value:.2f} % / {100 * sum(found) / len(found):.0f} %"
            )
        rows.append(row)
    head = ["samples", *[f"stride {stride}" for stride in STRIDES]]
    section.table(f"Overhead / overlap ({', '.join(names)}), Python {env.version}", head, rows)


def _cost(env: Environment, name: str, plan: Plan, **calls: int) -> Column:
    say(f"calls: overhead, {name}, Python {env.version} {calls or ''}")
    answer = run_worker(env, name, ["off", "sonde"], TICKS, plan, what="calls", calls=calls)
    rounds = rounds_of(answer, TICKS)
    return timer_overhead(rounds, rounds.cpu, "sonde")


def _middle(costs: list[Column]) -> Figure:
    """The median of the programs' medians, and that of their intervals' ends."""
    figures = [median(cost) for cost in costs]
    ends = ([f.value for f in figures], [f.low for f in figures], [f.high for f in figures])
    return Figure(*(float(np.median(end)) for end in ends))


def _at_least(what: str, value: float, bound: float) -> str:
    word = "met" if value >= bound else "**missed**"
    return f"{what}: {100 * value:.1f} % (bound {100 * bound:g} %): {word}"


# ---- overlap


def overlap(
    env: Environment, name: str, seconds: float, scratch: Path, **calls: int
) -> tuple[float, int]:
    """Of the edges found in windows with those of an exhaustive count, and the windows it took."""
    say(f"calls: overlap, {name}, Python {env.version} {calls or ''}")
    true = _all(env, name, scratch)
    recording = scratch / "calls.sonde"
    options = [f"--{key}={value}" for key, value in calls.items()]
    sonde = [str(Path(sys.executable).parent / "sonde"), "run", "-o", str(recording)]
    command = [*sonde, "--what", "calls", "--ticks", str(TICKS), *options, "--"]
    command += [env.python, str(HERE / "steady.py"), name, str(seconds)]
    done = subprocess.run(command, env=env.variables(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no word"])[-1])
    found, windows = _counted(recording)
    return sum(min(share, found.get(edge, 0.0)) for edge, share in true.items()), windows


def _all(env: Environment, name: str, scratch: Path) -> Shares:
    out = scratch / f"calls-{env.version}-{name}.json"
    if not out.exists():
        command = [env.python, str(COUNTER), str(out), str(HERE / "steady.py"), name, "0.0001"]
        variables = {**env.variables(), "COUNT_SINCE": "rounds"}
        variables["PYTHONPATH"] = os.pathsep.join(
            [str(HERE), *filter(None, [variables.get("PYTHONPATH")])]
        )
        subprocess.run(command, env=variables, check=True, capture_output=True)
    told: list[Any] = json.loads(out.read_text())
    counted: dict[Edge, float] = {}
    for (caller, file), line, (callee, _), number in told:
        if not file.endswith("/steady.py"):
            edge = (caller, line, callee.rpartition(".")[2])
            counted[edge] = counted.get(edge, 0) + number
    return _shares(counted)


def _counted(path: Path) -> tuple[Shares, int]:
    """What C code calls counts for who called that, as in the exhaustive count."""
    from sonde.recording.reader import read
    from sonde.views.calls import calls

    counted: dict[Edge, float] = {}
    view = calls(read(path), by="context")
    for call in view.edges:
        *callers, callee = call.chain or [{}]
        inside = list(itertools.dropwhile(lambda frame: frame["name"] != "rounds", callers))
        while inside and inside[-1]["file"] == "<built-in>":
            inside.pop()
        if len(inside) > 1:
            edge = (inside[-1]["name"], inside[-1]["line"], callee["name"].rpartition(".")[2])
            counted[edge] = counted.get(edge, 0) + call.weight
    return _shares(counted), view.windows


def _shares(counted: dict[Edge, float]) -> Shares:
    total = sum(counted.values())
    return {edge: number / total for edge, number in counted.items()}


def report(
    section: Section,
    env: Environment,
    envs: list[Environment],
    names: list[str],
    quick: bool,
    scratch: Path,
) -> None:
    of_programs(section, env, names, Plan(3 if quick else 20), 2 if quick else 10, scratch)
    if not quick:
        few = [name for name in overhead.PEER_PROGRAMS if name in PROGRAMS][:3]
        of_versions(section, envs, few, Plan(8), 5, scratch)
