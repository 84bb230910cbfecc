"""What recording the call flow costs beside cProfile, and how its times compare with samples."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import blocks
from harness.progress import say
from publish.markdown import Section

if TYPE_CHECKING:
    from harness.packages import Environment
    from harness.paired import Figure

PROGRAMS = ("richards", "deltablue", "raytrace", "json", "deepcopy")
CONDITIONS: dict[str, Any] = {
    "flow": {"what": "flow", "rate": 100},
    "flow-c": {"what": "flow", "flow_c": True, "rate": 100},
    "cProfile": "cProfile",
}
KEPT = {"flow": CONDITIONS["flow"], "samples": {"what": "cpu", "rate": 10_000}}
BLOCKS = 8
GOAL = 0.5
"""Of what cProfile costs."""
ERROR_GOAL = 0.05
MIN_SHARE = 0.03


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
            output = scratch / f"flow-{name}"
            found = blocks.run(
                env, name, CONDITIONS, blocks=BLOCKS, seconds=seconds, output=output, kept=KEPT
            )
            ratios = {c: found.ratios(c) for c in CONDITIONS}
            share = (float(np.median(ratios["flow"])) - 1) / max(
                float(np.median(ratios["cProfile"])) - 1, 0.01
            )
            shares.append(share)
            rows.append(
                [name, *(_text(blocks.median(ratios[c])) for c in CONDITIONS), f"{share:.2f}"]
            )
            of_functions = _errors(output)
            if of_functions:
                median = statistics.median(error for error, _ in of_functions)
                medians.append(median)
                noise = statistics.median(count**-0.5 for _, count in of_functions)
                errors.append(
                    [name, f"{len(of_functions)}", f"{100 * median:.1f} %",
                     f"{100 * max(of_functions)[0]:.1f} %", f"{100 * noise:.1f} %"]
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


def _text(figure: Figure) -> str:
    return f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"


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
