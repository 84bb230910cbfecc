"""What recording the call flow costs beside cProfile, and how its times compare with samples."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.packages import SOURCE
from harness.progress import say
from publish.markdown import Section

if TYPE_CHECKING:
    from harness.packages import Environment

Slices = list[list[object]]
PROGRAMS = ("richards", "deltablue", "raytrace", "json", "deepcopy")
CONDITIONS = ("flow", "flow-c", "cProfile")
GOAL = 0.5
"""Of what cProfile costs."""
ERROR_GOAL = 0.05
MIN_SHARE = 0.03
DRAWS = 1000
WORKER = Path(__file__).parents[1] / "harness" / "flow_worker.py"


def report(
    section: Section, envs: list[Environment], names: list[str], seconds: float, scratch: Path
) -> None:
    lines = []
    for env in envs:
        rows: list[list[str]] = []
        errors: list[list[str]] = []
        shares = []
        medians = []
        for name in names:
            say(f"flow: {name}, Python {env.version}")
            answer = _run(env, name, seconds, scratch / f"flow-{name}")
            ratios = {c: _ratios(answer["slices"], c) for c in CONDITIONS}
            share = (statistics.median(ratios["flow"]) - 1) / max(
                statistics.median(ratios["cProfile"]) - 1, 0.01
            )
            shares.append(share)
            rows.append([name, *(_interval(ratios[c]) for c in CONDITIONS), f"{share:.2f}"])
            found = _errors(scratch / f"flow-{name}")
            if found:
                median = statistics.median(error for error, _ in found)
                medians.append(median)
                noise = statistics.median(count**-0.5 for _, count in found)
                errors.append(
                    [name, f"{len(found)}", f"{100 * median:.1f} %",
                     f"{100 * max(found)[0]:.1f} %", f"{100 * noise:.1f} %"]
                )  # fmt: skip
        head = ["program", "flow", "with C functions", "cProfile", "flow of cProfile"]
        section.table(f"Times as long, Python {env.version}", head, rows)
        head = ["program", "functions", "median error", "largest", "standard error of samples"]
        section.table(f"Beside samples at 10 kHz, Python {env.version}", head, errors)
        share = statistics.median(shares)
        lines.append(
            f"overhead of the call flow, Python {env.version}: {share:.2f} of cProfile's (goal "
            f"{GOAL}): {'met' if share <= GOAL else '**missed**'}"
        )
        error = statistics.median(medians)
        lines.append(
            f"median error beside samples, Python {env.version}: {100 * error:.1f} % (goal "
            f"{100 * ERROR_GOAL:.0f} %): {'met' if error <= ERROR_GOAL else '**missed**'}"
        )
    section.goals(lines)


def _run(
    env: Environment, name: str, seconds: float, output: Path
) -> dict[str, list[list[object]]]:
    job = {
        "program": name, "blocks": 8, "seconds": seconds, "source": str(SOURCE),
        "recorder": sys.executable, "output": str(output),
    }  # fmt: skip
    done = subprocess.run(
        [env.python, WORKER, json.dumps(job)],
        env=env.variables(), capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    answer: dict[str, Slices] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _ratios(slices: Slices, condition: str) -> list[float]:
    by_block: dict[object, dict[object, float]] = {}
    for block, which, ns in slices:
        by_block.setdefault(block, {})[which] = float(str(ns))
    return [block[condition] / block["off"] for block in by_block.values()]


def _interval(ratios: list[float]) -> str:
    """The median, and the 95 % interval of the bootstrap."""
    draw = random.Random(1)
    drawn = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    low, high = drawn[DRAWS // 40], drawn[-DRAWS // 40]
    return f"{statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]"


def _errors(output: Path) -> list[tuple[float, int]]:
    """Of each large function the relative error, and the samples it has."""
    from sonde.recording.reader import read
    from sonde.views.flow.flow import flow
    from sonde.views.flow.flow_error import sampled_functions
    from sonde.views.selecting.profile import identities
    from sonde.views.selecting.selection import Selection

    recording = read(f"{output}.samples.sonde")
    functions, _ = identities(recording)
    ns, count = sampled_functions(recording, Selection(), len(functions))
    rows = {row.function: row.numbers.base for row in flow(read(f"{output}.flow.sonde")).rows}
    known = [place for place, function in enumerate(functions) if function in rows]
    all_ns, all_base = (sum(int(ns[p]) for p in known), sum(rows[functions[p]] for p in known))
    return [
        (abs(rows[functions[p]] / all_base / (ns[p] / all_ns) - 1), int(count[p]))
        for p in known
        if ns[p] >= MIN_SHARE * all_ns
    ]
