"""Do samplers agree with themselves and with each other?

Hofer's consistency and agreement (thesis, 3.4.2): each recording against the average of its
sampler, and the averages of samplers against each other, by overlap and by hot-edge coverage.
Whaley's precision: the correlation of successive runs, as a geometric mean. And what one
sample takes.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from accuracy import sampled, trees
from accuracy.accuracy import steady
from harness import kept, peers
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section

RATE = 1000
COSTS = ("taken", "lost", "undecodable", "agent_cpu_ns", "recorder_cpu_ns")


def report(
    section: Section,
    envs: Sequence[Environment],
    tools: peers.Tools,
    names: Sequence[str],
    seconds: float,
    times: int,
    scratch: Path,
) -> None:
    for env in envs:
        runs = _runs(env, tools, names, seconds, times, scratch)
        if runs:
            _consistency(section, env, runs, seconds, times)
            _agreement(section, env, runs)
            _latency(section, env, runs)


Runs = dict[str, dict[str, list[dict[str, Any]]]]
"""By sampler and program: a tree and its costs for each repetition."""


def _runs(
    env: Environment,
    tools: peers.Tools,
    names: Sequence[str],
    seconds: float,
    times: int,
    scratch: Path,
) -> Runs:
    found: Runs = {}
    for who in [*sampled.samplers(), *sampled.peers_on(env, tools)]:
        for name in filter(env.runs, names):
            answers = []
            for number in range(times):
                try:
                    answer = kept.result(
                        "agreement", env.version, who, name, number,
                        measure=lambda who=who, name=name: _one(
                            env, tools, who, name, seconds, scratch
                        ),
                        seconds=seconds,
                    )  # fmt: skip
                except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                    sampled.left_out(error)
                    break
                if answer["tree"]:
                    answers.append(answer)
            if len(answers) > 1:
                found.setdefault(who, {})[name] = answers
            elif len(answers) < times:
                break  # it does not work here, and the other programs would say the same
    return found


def _one(
    env: Environment, tools: peers.Tools, who: str, name: str, seconds: float, scratch: Path
) -> dict[str, Any]:
    say(f"agreement: {who}, {name}, Python {env.version}")
    if who in sampled.PEERS:
        command = steady(env, name, seconds + 3)
        stacks, quality, _ = sampled.by_peer(
            env, command, who, RATE, seconds, tools, scratch / "agreement.out", to_the_end=False
        )
    else:
        stacks, quality, _ = sampled.by_sonde(
            env, steady(env, name, seconds), who, RATE, scratch / "agreement.sonde"
        )
    costs = {key: quality[key] for key in COSTS if key in quality}
    return {"tree": trees.of_stacks(stacks), "costs": costs}


# ---- tables


def _of(runs: Sequence[dict[str, Any]]) -> list[trees.Tree]:
    return [run["tree"] for run in runs]


def _consistency(
    section: Section, env: Environment, runs: Runs, seconds: float, times: int
) -> None:
    rows, boxes = [], {}
    for who, by_program in runs.items():
        overlaps, coverages, correlations = [], [], []
        for answers in by_program.values():
            each = _of(answers)
            mean = trees.average(each)
            overlaps.append(float(np.median([trees.overlap(mean, tree) for tree in each])))
            coverages.append(float(np.median([trees.coverage(mean, tree) for tree in each])))
            correlations += [trees.correlation(*pair) for pair in itertools.pairwise(each)]
        precision = float(np.exp(np.mean(np.log(np.maximum(correlations, 1e-3)))))
        rows.append(
            [who, _spread(overlaps), _spread(coverages), f"{precision:.4f}", f"{len(by_program)}"]
        )
        boxes[who] = overlaps
    head = ["sampler", "overlap with its average", "hot-edge coverage", "precision", "programs"]
    section.table(
        f"Consistency of {times} runs of {seconds:g} s at {RATE:,} Hz, Python {env.version}: "
        "median of the programs' medians [quartiles], and correlation of successive runs",
        head, rows,
    )  # fmt: skip
    section.figure(
        "boxes", f"consistency-{env.version}",
        f"Overlap with the own average, by sampler, {env.version}",
        {"values": boxes, "label": "overlap of a run with the average of its sampler"},
    )  # fmt: skip


def _agreement(section: Section, env: Environment, runs: Runs) -> None:
    averages = {
        who: {name: trees.average(_of(answers)) for name, answers in by_program.items()}
        for who, by_program in runs.items()
    }
    for measure, title in ((trees.overlap, "overlap"), (trees.coverage, "hot-edge coverage")):
        rows = []
        for one, mine in averages.items():
            row = [one]
            for other, theirs in averages.items():
                found = [measure(mine[name], theirs[name]) for name in mine.keys() & theirs.keys()]
                row.append("" if one == other else f"{np.median(found):.3f}" if found else "–")
            rows.append(row)
        told = "" if title == "overlap" else ", of the column's hot edges by the row's"
        section.table(
            f"Agreement of averages, {title}{told}, median of the programs, Python {env.version}",
            ["", *averages], rows,
        )  # fmt: skip


def _latency(section: Section, env: Environment, runs: Runs) -> None:
    """What one sample takes, by the agent's own measuring and by the recorder's processor time."""
    rows = []
    for who, by_program in runs.items():
        if who in sampled.PEERS:
            continue
        cells = []
        for cost in ("agent_cpu_ns", "recorder_cpu_ns"):
            each = [
                float(np.median([_each(run["costs"], cost) for run in answers]))
                for answers in by_program.values()
            ]
            cells.append(_spread([value / 1e3 for value in each], 1))
        lost = [
            (run["costs"].get("lost", 0) + run["costs"].get("undecodable", 0))
            / max(run["costs"]["taken"], 1)
            for answers in by_program.values()
            for run in answers
        ]
        rows.append([who, *cells, f"{100 * float(np.mean(lost)):.2f} %"])
    head = ["sampler", "µs in the target", "µs of the recorder", "lost or undecodable"]
    section.table(
        f"Latency of a sample, Python {env.version}: median of the programs [quartiles]", head, rows
    )


def _each(costs: dict[str, float], cost: str) -> float:
    return costs.get(cost, 0) / max(costs["taken"], 1)


def _spread(values: Sequence[float], digits: int = 3) -> str:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
