"""How far each sampler is from a truth that is known.

The programs of tests/truth measure by their own CPU clock how long each of their parts takes; the
sampled share of a part is that of the stacks through it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy import sampled
from harness import kept, peers
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "truth" / "programs"
RATE = 1000
# Program, the function whose callees are its parts, and where it tells of them.
PROGRAMS = (
    ("shares", "turn", "by_function"),
    ("calls", "one", "parts"),
    ("coroutines", "part", "parts"),
)


def report(
    section: Section,
    envs: Sequence[Environment],
    tools: peers.Tools,
    seconds: float,
    times: int,
    scratch: Path,
) -> None:
    columns = [program for program, *_ in PROGRAMS]
    for env in envs:
        rows, bars = [], {}
        for who in [*sampled.samplers(), *sampled.peers_on(env, tools)]:
            worst: dict[str, float] = {}
            samples = 0
            for program, caller, parts in PROGRAMS:
                errors = []
                for number in range(times):
                    try:
                        answer = kept.result(
                            "truth", env.version, who, program, number,
                            measure=lambda env=env, who=who, program=program: _one(
                                env, tools, who, program, seconds, scratch
                            ),
                            seconds=seconds,
                        )  # fmt: skip
                    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                        sampled.left_out(error)
                        break
                    errors.append(_error(answer, caller, parts))
                    samples += answer["taken"]
                if errors:
                    worst[program] = sum(errors) / len(errors)
            if worst:
                cells = [f"{100 * worst[c]:.2f}" if c in worst else "–" for c in columns]
                rows.append([who, *cells, f"{samples:,}"])
                bars[who] = [100 * worst.get(column, 0.0) for column in columns]
        section.table(
            f"Largest error of a part's share, in percentage points, mean of {times} runs at "
            f"{RATE:,} Hz, Python {env.version}",
            ["sampler", *columns, "samples"], rows,
        )  # fmt: skip
        section.figure(
            "bars", f"truth-{env.version}",
            f"Largest error of a part's share, by sampler, {env.version}",
            {"values": bars, "groups": columns, "label": "percentage points"},
        )  # fmt: skip


def _one(
    env: Environment, tools: peers.Tools, who: str, program: str, seconds: float, scratch: Path
) -> dict[str, Any]:
    say(f"truth: {who}, {program}, Python {env.version}")
    command = [env.python, str(FOLDER / f"{program}.py")]
    if who in sampled.PEERS:
        stacks, quality, printed = sampled.by_peer(
            env, [*command, str(seconds + 3)], who, RATE, seconds, tools, scratch / "truth.out"
        )
    else:
        stacks, quality, printed = sampled.by_sonde(
            env, [*command, str(seconds)], who, RATE, scratch / "truth.sonde"
        )
    by_child: dict[str, dict[str, float]] = {caller: {} for _, caller, _ in PROGRAMS}
    for stack, weight in stacks:
        names = [frame.name.rpartition(".")[2] for frame in stack]
        for caller, children in by_child.items():
            if caller in names[:-1]:
                child = names[names.index(caller) + 1]
                children[child] = children.get(child, 0.0) + weight
    told = json.loads(printed.strip().splitlines()[-1])
    return {"told": told, "sampled": by_child, "taken": quality["taken"]}


def _error(answer: dict[str, Any], caller: str, parts: str) -> float:
    spent: dict[str, float] = answer["told"][parts]["spent"]
    found: dict[str, float] = answer["sampled"][caller]
    total, seen = sum(spent.values()), sum(found.get(part, 0.0) for part in spent)
    return max(abs(ns / total - found.get(part, 0.0) / max(seen, 1)) for part, ns in spent.items())
