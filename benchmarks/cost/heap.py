"""What a heap snapshot costs: how long the program is stopped, and what sonde takes beside it.

Walks over the same heap from inside the program stand beside: they stop it for all of their time.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from cost.opening import cost_of, sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

PACKAGES = ("guppy3",)
INSTANCES = (250_000, 2_500_000)
PAUSE_GOAL_MS = 50.0
SECONDS_GOAL = 60.0
MEMORY_GOAL_MB = 2000.0
WORKLOAD = Path(__file__).parents[1] / "workloads" / "heap_objects.py"


class Holder:
    """A program with a heap."""

    def __init__(self, env: Environment, instances: int) -> None:
        self._process = subprocess.Popen(
            [env.python, WORKLOAD, str(instances)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(env.folder)},
        )
        assert self._process.stdout is not None
        self.pid = int(self._process.stdout.readline())

    def seconds(self, walk: str) -> float | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{walk}\n")
        self._process.stdin.flush()
        found: float | None = json.loads(self._process.stdout.readline())
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def report(section: Section, envs: list[Environment], rounds: int, scratch: Path) -> None:
    from sonde.heap import snapshot_file

    rows = []
    pauses, seconds, peaks = [], [], []
    for env in envs:
        for instances in INSTANCES:
            say(f"heap: {instances:,} instances under {env.version}")
            holder, path = Holder(env, instances), scratch / "heap.sonde"
            costs, stops, walks = [], [], []
            for _ in range(rounds):
                costs.append(
                    cost_of([sonde(), "heap", str(holder.pid), "--force", "-o", str(path)])
                )
                taken = snapshot_file.read(str(path))
                stops.append((taken.origin.pause_ns or 0) / 1e6)
                walks.append((taken.origin.walk_ns or 0) / 1e9)
            question = cost_of([sonde(), "report", str(path), "heap", "--path", "Node"])
            inside = [holder.seconds(walk) for walk in ("collector", "guppy")]
            holder.end()
            pauses.append(max(stops))
            seconds.append(max(cost.seconds for cost in costs) + question.seconds)
            peaks.append(max(cost.peak_mb for cost in [*costs, question]))
            rows.append(
                [
                    f"{env.version}, {len(taken):,} objects",
                    between(stops, 1),
                    between(walks, 2),
                    between([cost.seconds for cost in costs], 1),
                    f"{question.seconds:.1f}",
                    f"{peaks[-1]:,.0f}",
                    f"{os.path.getsize(path) / 1e6:,.1f}",
                    *("–" if stop is None else f"{stop * 1e3:,.0f}" for stop in inside),
                ]
            )
    head = [
        "heap", "stopped, ms", "walk beside it, s", "sonde heap, s", "--path, s", "peak, MB",
        "file, MB", "gc.get_objects, ms", "guppy3, ms",
    ]  # fmt: skip
    section.table("`sonde heap PID`, and walks inside the program, which stop it", head, rows)
    section.goals(
        [
            verdict("longest stop", max(pauses), PAUSE_GOAL_MS, "ms", f"{max(pauses):.1f} ms"),
            verdict(
                "snapshot and question", max(seconds), SECONDS_GOAL, "s", f"{max(seconds):.1f} s"
            ),
            verdict("peak memory", max(peaks), MEMORY_GOAL_MB, "MB", f"{max(peaks):,.0f} MB"),
        ]
    )


def between(values: list[float], digits: int) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low}–{high}"
