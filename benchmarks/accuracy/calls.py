"""Counted calls: what windows cost, and how much of the true call graph they find.

After Arnold and Grove's Tables 2 and 3. Their base is a window of one call, which is what a timer
finds; beside it stands what samples of time find.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from accuracy.call_graphs import TICKS, compared_at_once
from cost import ticks
from cost.overhead import CALLS_GOAL, Plan, run_worker
from harness.packages import Environment
from harness.paired import Figure, median, overhead, rounds_of
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent
from workloads import programs

OVERLAP_GOALS = {"richards": 0.95, "raytrace": 0.95, "deltablue": 0.90}
MEAN_OVERLAP_GOAL = 0.90
BASE = {"stride": 1, "samples": 1}
STRIDES = (1, 3, 7, 15)
SAMPLES = (1, 4, 16, 64)
# What a window costs shows in a few programs; what it finds differs more from one to another.
COSTED = ("richards", "deltablue", "raytrace")

Cost = Callable[[Environment, str, dict[str, int]], Figure | None]
"""The part of its CPU time that windows cost a program; None if it cannot be told."""


def of_programs(
    section: Section,
    env: Environment,
    names: Sequence[str],
    cost_of: Cost,
    seconds: float,
    scratch: Path,
    goals: bool = True,
) -> None:
    """Table 3: overhead and overlap by program, of windows and of what a timer alone finds."""
    rows = []
    costs: list[Figure] = []
    found: dict[str, dict[str, Any]] = {}
    bases: dict[str, float] = {}
    for name in filter(env.runs, names):
        try:
            cost = cost_of(env, name, {})
            both = compared_at_once(env, [(name, {}), (name, BASE)], seconds, scratch)
            answer, base = (found.result() for found in both)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            say(f"  left out: {error}")
            continue
        costs += [cost] if cost else []
        found[name], bases[name] = answer, base["overlap"]
        rows.append(
            [name, _told(cost), _part(answer["timer"]), _part(base["overlap"]),
             _part(answer["early"]), _part(answer["overlap"]), _part(answer["coverage"]),
             f"{answer['correlation']:.3f}", f"{answer['windows']:,}"]
        )  # fmt: skip
    if not found:
        return
    keys = ("timer", "early", "overlap", "coverage", "correlation")
    means = {key: float(np.mean([answer[key] for answer in found.values()])) for key in keys}
    middle = ticks.in_common(costs, np.median) if costs else None
    rows.append(
        ["**median / means**", _told(middle), _part(means["timer"]),
         _part(float(np.mean(list(bases.values())))), _part(means["early"]),
         _part(means["overlap"]), _part(means["coverage"]), f"{means['correlation']:.3f}", ""]
    )  # fmt: skip
    head = ["program", "overhead, CPU", "overlap, samples of time", "overlap, windows of one call",
            f"overlap of windows, {seconds / 3:g} s", f"overlap of windows, {seconds:g} s",
            "hot-edge coverage", "correlation", "windows"]  # fmt: skip
    section.table(f"{TICKS} windows a second, Python {env.version}", head, rows)
    section.figure(
        "bars", f"calls-programs-{env.version}",
        f"Overlap with all calls: samples of time, windows of one call, windows, {env.version}",
        {"values": {"samples of time": [100 * answer["timer"] for answer in found.values()],
                    "windows of one call": [100 * bases[name] for name in found],
                    "windows": [100 * answer["overlap"] for answer in found.values()]},
         "groups": list(found), "label": "overlap with all calls, %"},
    )  # fmt: skip
    if not goals or not middle:
        return
    lines = [
        measured_verdict(
            "overhead of counting calls, median of the programs", middle.times(100),
            100 * CALLS_GOAL, "%", percent(middle),
        )
    ]  # fmt: skip
    lines += [
        _at_least(f"overlap on {name}", found[name]["overlap"], goal)
        for name, goal in OVERLAP_GOALS.items()
        if name in found
    ]
    told = f"counted calls, mean overlap of {len(found)} programs"
    lines.append(_at_least(told, means["overlap"], MEAN_OVERLAP_GOAL))
    section.goals(lines)


def of_parameters(
    section: Section,
    env: Environment,
    names: Sequence[str],
    cost_of: Cost,
    seconds: float,
    scratch: Path,
) -> None:
    """Table 2: overhead / overlap by stride and samples."""
    rows, lines = [], {}
    names = list(filter(env.runs, names))
    costed = [name for name in names if name in COSTED] or names
    for stride in STRIDES:
        lines[f"stride {stride}"] = [0.0] * len(SAMPLES)
    for place, samples in enumerate(SAMPLES):
        row = [f"{samples}"]
        for stride in STRIDES:
            chosen = {"stride": stride, "samples": samples}
            costs: list[Figure] = []
            found: list[float] = []
            for name in costed:
                try:
                    cost = cost_of(env, name, chosen)
                    costs += [cost] if cost else []
                except RuntimeError as error:
                    say(f"  left out: {error}")
            jobs = [(name, chosen) for name in names]
            for one in compared_at_once(env, jobs, seconds, scratch):
                try:
                    found.append(one.result()["overlap"])
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    say(f"  left out: {error}")
            mean = 100 * float(np.mean(found)) if found else 0.0
            cost = ticks.in_common(costs, np.mean) if costs else None
            row.append(f"{_told(cost)} / {mean:.0f} %")
            lines[f"stride {stride}"][place] = mean
        rows.append(row)
    head = ["samples", *[f"stride {stride}" for stride in STRIDES]]
    title = (
        f"Overhead, mean of {', '.join(costed)} / overlap, mean of {len(names)} programs, "
        f"{TICKS} windows a second for {seconds:g} s, Python {env.version}"
    )
    section.table(title, head, rows)
    section.figure(
        "lines", f"calls-parameters-{env.version}",
        f"Overlap with all calls by samples in a window and stride, {env.version}",
        {"x": list(SAMPLES), "values": lines, "across": "samples in a window", "log": True,
         "label": "overlap with all calls, %"},
    )  # fmt: skip


def by_slices(plan: Plan) -> Cost:
    """With sonde and without it in turns, which takes long to find as little."""

    def cost(env: Environment, name: str, calls: dict[str, int]) -> Figure:
        say(f"calls: overhead, {name}, Python {env.version} {calls or ''}")
        answer = run_worker(env, name, ["off", "sonde"], TICKS, plan, what="calls", calls=calls)
        return median(overhead(rounds_of(answer, TICKS).cpu, "sonde"))

    return cost


def by_rounds(seconds: float, scratch: Path) -> Cost:
    """By the rounds that windows fall into, for programs that have short ones."""

    def cost(env: Environment, name: str, calls: dict[str, int]) -> Figure | None:
        if name not in programs.SHORT:
            return None
        tick = ticks.measured(env, name, TICKS, "calls", seconds, scratch, **calls)
        return ticks.share(tick.cost)

    return cost


def _told(cost: Figure | None) -> str:
    return percent(cost) if cost else "–"


def _part(value: float) -> str:
    return f"{100 * value:.1f} %"


def _at_least(what: str, value: float, goal: float) -> str:
    word = "met" if value >= goal else "**missed**"
    return f"{what}: {100 * value:.1f} % (goal {100 * goal:g} %): {word}"
