"""What a probe costs where it reads a value, where it leaves a pass out, and everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness import blocks
from harness.paired import geometric_mean
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent, verdict
from workloads import loops

if TYPE_CHECKING:
    from harness.packages import Environment
    from harness.paired import Figure

PROGRAMS = ("richards", "json", "raytrace")
HIT_GOAL = 1000.0
ELSEWHERE_GOAL = 1.0
PLACE = f"loops.py:{loops.PROBED_LINE}"
LINE = f"{PLACE} value"
CONDITIONS = {
    "read": {"what": "probes", "rate": 100, "probes": [LINE]},
    "left out": {"what": "probes", "rate": 100, "probes": [f"{LINE} every 1000000"]},
}
BLOCKS = 12


def report(
    section: Section, envs: list[Environment], names: list[str], seconds: float, scratch: Path
) -> None:
    lines = []
    rows = []
    for env in envs:
        say(f"probes: Python {env.version}")
        found = blocks.run(
            env, "visiting", CONDITIONS, blocks=BLOCKS, seconds=seconds, output=scratch / "probes"
        )
        costs = {name: blocks.median(found.differences(name) / loops.ROUNDS) for name in CONDITIONS}
        rows.append([env.version, *(_ns(costs[name]) for name in CONDITIONS)])
        hit = costs["read"]
        lines.append(
            verdict(
                f"a probe that reads, Python {env.version}", hit.value, HIT_GOAL, "ns", _ns(hit)
            )
        )
    section.table("ns of CPU time a pass", ["Python", "read", "left out by `every`"], rows)
    for env in envs:
        rows, figures = [], []
        for name in ["beside", *names]:
            say(f"probes: {name}, Python {env.version}")
            found = blocks.run(
                env, name, {"probed": CONDITIONS["read"]}, blocks=BLOCKS, seconds=seconds,
                output=scratch / "probes",
            )  # fmt: skip
            ratios = found.ratios("probed") - 1
            figures.append(ratios)
            rows.append([name, percent(blocks.median(ratios))])
        mean = geometric_mean(figures)
        rows.append(["**geometric mean**", percent(mean)])
        section.table(
            f"Programs that do not come to the line, Python {env.version}", ["program", "CPU"], rows
        )
        lines.append(
            measured_verdict(
                f"other code, Python {env.version}",
                mean.times(100),
                ELSEWHERE_GOAL,
                "%",
                percent(mean),
            )
        )
    section.goals(lines)


def _ns(figure: Figure) -> str:
    return f"{figure.value:.0f} [{figure.low:.0f}, {figure.high:.0f}]"
