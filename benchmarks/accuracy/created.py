"""How alike are the objects that sonde estimates and those that a program creates, class by class?

Compared are shares, so that a recording of many rounds is held against an exact count of one. With
so few samples that chance alone takes more than the goal allows, nothing is decided.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np

from accuracy.accuracy import steady
from accuracy.trees import overlap, shares
from cost.opening import sonde
from harness import kept
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section
from sonde.recording.reader import read
from sonde.views.objects.objects import objects

GOAL = 0.95
PROGRAMS = ("deltablue", "raytrace", "chaos", "sqlglot", "django_template")
COUNTER = Path(__file__).resolve().parents[1] / "workloads" / "created.py"


def report(
    section: Section, envs: list[Environment], names: list[str], seconds: float, scratch: Path
) -> None:
    rows, lines = [], []
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name in names:
        row = [name]
        for env in envs:
            say(f"created: {name}, Python {env.version}")
            share, expected, least, samples = _compared(env, name, seconds, scratch)
            found.setdefault(env.version, []).append((share, expected, least))
            row.append(f"{share:.3f} of {expected:.3f} ({samples:,})")
        rows.append(row)
    for version, each in found.items():
        lowest, expected, least = min(each)
        word = "met" if lowest >= GOAL else "undecided" if least < GOAL else "**missed**"
        lines.append(
            f"created objects, Python {version}: {lowest:.3f}, of {expected:.3f} by chance "
            f"(goal {GOAL}): {word}"
        )
    section.table(
        f"Overlap of estimated with exact counts of created objects, {seconds:g} s",
        ["program", *found],
        rows,
    )
    section.goals(lines)


def _compared(
    env: Environment, name: str, seconds: float, scratch: Path
) -> tuple[float, float, float, int]:
    """The overlap, what chance lets be expected of it and at least, and of how many samples."""
    answer: list[float] = kept.result(
        "created", env.version, name,
        measure=lambda: _measured(env, name, seconds, scratch), seconds=seconds,
    )  # fmt: skip
    return answer[0], answer[1], answer[2], int(answer[3])


def _measured(env: Environment, name: str, seconds: float, scratch: Path) -> list[float]:
    done = subprocess.run(
        [env.python, str(COUNTER), name],
        env=env.variables(), check=True, capture_output=True, text=True,
    )  # fmt: skip
    # Classes of the same name in different modules are one: allocations have plain names.
    exact: Counter[str] = Counter()
    for qualified, number in json.loads(done.stdout).items():
        exact[qualified.rpartition(".")[2]] += number
    path = scratch / f"created-{env.version}-{name}.sonde"
    subprocess.run(
        [sonde(), "run", "--force", "-o", path, "--what", "objects", "--",
         *steady(env, name, seconds)],
        env=env.variables(), check=True, capture_output=True,
    )  # fmt: skip
    rows = [row for row in objects(read(path)).rows if row.type.rpartition(".")[2] in exact]
    path.unlink()
    estimated = Counter({row.type.rpartition(".")[2]: row.estimated_count for row in rows})
    true = shares(dict(exact))
    samples = sum(row.count for row in rows)
    return [
        overlap(true, shares(dict(estimated))),
        *_by_chance(list(true.values()), samples),
        samples,
    ]


def _by_chance(true: list[float], samples: int) -> tuple[float, float]:
    """The overlap of so many samples, each drawn by these shares, with the shares: on average, and
    what 19 of 20 such draws reach."""
    drawn = np.random.default_rng(1).multinomial(max(samples, 1), true, 2000) / max(samples, 1)
    found = np.minimum(drawn, true).sum(axis=1)
    return float(found.mean()), float(np.quantile(found, 0.05))
