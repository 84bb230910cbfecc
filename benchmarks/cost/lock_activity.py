"""What counting acquisitions of locks costs, and how close sampled numbers are to exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness import blocks
from harness.paired import geometric_mean
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent, verdict
from workloads.loops import ACQUIRED, ROUNDS

if TYPE_CHECKING:
    from harness.packages import Environment

PROGRAMS = ("richards", "json", "deepcopy", "logging")
LOOP = "acquiring"
"""Nothing but acquisitions: no part of the mean."""
GOAL = 1.0
"""Percent of CPU time, mean of the programs."""
ERROR_GOAL = 3.0
"""Percent of the exact number, largest."""
ACTIVITY = {"what": "lock-activity", "rate": 100}
CLOSE = {"what": "lock-activity", "rate": 100, "lock_activity_every": 100}
BLOCKS = 12


def report(
    section: Section, envs: list[Environment], names: list[str], seconds: float, scratch: Path
) -> None:
    lines = []
    for env in envs:
        rows, figures = [], []
        for name in [*names, LOOP]:
            say(f"lock activity: {name}, Python {env.version}")
            found = blocks.run(
                env, name, {"activity": ACTIVITY}, blocks=BLOCKS, seconds=seconds,
                output=scratch / f"locks-{name}", kept={"every": CLOSE} if name == LOOP else {},
            )  # fmt: skip
            ratios = found.ratios("activity") - 1
            rows.append([name, percent(blocks.median(ratios))])
            if name != LOOP:
                figures.append(ratios)
        mean = geometric_mean(figures)
        rows.append(["**geometric mean**", percent(mean)])
        section.table(f"Overhead at one of 1,000, Python {env.version}", ["program", "CPU"], rows)
        lines.append(
            measured_verdict(
                f"lock activity, Python {env.version}", mean.times(100), GOAL, "%", percent(mean)
            )
        )
        largest, margin, table = _errors(scratch / f"locks-{LOOP}.every.sonde", found.rounds)
        head = ["lock", "acquired", "estimated", "margin", "error"]
        section.table(f"Sampled counts, one of 100, Python {env.version}", head, table)
        text = f"{100 * largest:.2f} % (margins up to {100 * margin:.1f} %)"
        lines.append(
            verdict(
                f"sampled counts, largest error, Python {env.version}",
                100 * largest,
                ERROR_GOAL,
                "%",
                text,
            )
        )
    section.goals(lines)


def _errors(recording: Path, rounds: dict[str, int]) -> tuple[float, float, list[list[str]]]:
    from sonde.recording.reader import read
    from sonde.views.locks.lock_activity import lock_activity

    active = lock_activity(read(str(recording)))
    assert active is not None
    rows, largest, margin = [], 0.0, 0.0
    for lock, each in ACQUIRED.items():
        exact = each * ROUNDS * rounds["every"]
        (found,) = (row for row in active.locks if f"`{lock}" in row.name)
        number = found.acquisitions
        error = number.number / exact - 1
        largest = max(largest, abs(error))
        margin = max(margin, number.margin / exact)
        rows.append(
            [
                lock,
                f"{exact:,}",
                f"{number.number:,}",
                f"{number.margin:,}",
                f"{100 * error:+.2f} %",
            ]
        )
    return largest, margin, rows
