"""Samples that tell a function and its caller only, against whole stacks: cost, and what is lost.

Both kinds are recorded in turn; what a sample costs is the agent's own CPU time by its count.
"""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

from accuracy.accuracy import steady
from cost.opening import asked, sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

RATE = 10_000
OVERLAP_GOAL = 0.9
BOUNDED = ("richards", "deltablue", "json")
DEEP = "deep"


def report(
    section: Section, env: Environment, names: list[str], seconds: float, times: int, scratch: Path
) -> None:
    rows, lines = [], []
    for name in names:
        say(f"chained: {name}, Python {env.version}")
        told: dict[str, list[float]] = {"whole": [], "chained": []}
        size: dict[str, float] = {}
        for _ in range(times):
            for stacks, costs in told.items():
                path = scratch / f"{name}-{stacks}.sonde"
                _record(env, name, stacks, seconds, path)
                quality = asked("report", path, "quality", "--json")
                costs.append(quality["agent_cpu_ns"] / quality["taken"])
                size[stacks] = path.stat().st_size / quality["taken"]
        whole, chained = (scratch / f"{name}-{stacks}.sonde" for stacks in told)
        overlap = asked("diff", whole, chained, "--json")["overlap"]
        sure = asked("report", chained, "quality", "--json")["chaining"]
        ns = {stacks: statistics.median(costs) for stacks, costs in told.items()}
        rows.append(
            [
                name,
                f"{ns['whole'] / 1e3:.2f}",
                f"{ns['chained'] / 1e3:.2f}",
                f"{size['whole']:.1f}",
                f"{size['chained']:.1f}",
                f"{overlap:.3f}",
                f"{sure['nodes']:,}",
                f"{sure['ambiguous_nodes'] / sure['nodes']:.1%}",
                f"{sure['one_level'] / sure['samples']:.1%}",
                f"{sure['three_levels'] / sure['samples']:.1%}",
            ]
        )
        if name in BOUNDED:
            kept = "met" if overlap >= OVERLAP_GOAL else "**missed**"
            lines.append(f"{name}: overlap {overlap:.3f} (goal {OVERLAP_GOAL}): {kept}")
        if name == DEEP:
            lines.append(
                verdict("a chained sample at depth 200, against a whole one", ns["chained"],
                        ns["whole"], "ns", f"{ns['chained']:.0f} ns"),
            )  # fmt: skip
    section.table(
        f"Whole stacks and chained ones at {RATE:,} Hz, Python {env.version}",
        ["program", "µs a sample, whole", "chained", "bytes a sample, whole", "chained", "overlap",
         "nodes", "of several callers", "caller sure", "three levels sure"],
        rows,
    )  # fmt: skip
    section.goals(lines)


def _record(env: Environment, name: str, stacks: str, seconds: float, path: Path) -> None:
    subprocess.run(
        [sonde(), "run", "--force", "-o", path, "--what", "cpu", "--rate", str(RATE),
         "--stacks", stacks, "--", *steady(env, name, seconds)],
        env=env.variables(), check=True, capture_output=True,
    )  # fmt: skip
