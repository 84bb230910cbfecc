"""What sonde costs by sampler and interval, as Hofer's figure 3.26 has it: 10, 1 and 0.1 ms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accuracy import sampled
from cost.overhead import Plan, run_worker
from harness.packages import Environment
from harness.paired import Column, geometric_mean, overhead, rounds_of
from harness.progress import say
from publish.markdown import Section, percent

RATES = (100, 1000, 10_000)
# A reader looks at all threads at once; its period need not fit a slice, but has to be met in one.
LONG_S = 0.05


def report(section: Section, envs: Sequence[Environment], names: Sequence[str], plan: Plan) -> None:
    for env in envs:
        rows, lines = [], {}
        for sampler in sampled.samplers():
            row, line = [sampler], []
            for rate in RATES:
                figure = _figure(env, sampler, names, rate, plan)
                row.append("–" if figure is None else percent(figure))
                line.append(None if figure is None else 100 * figure.value)
            if any(value is not None for value in line):
                rows.append(row)
                lines[sampler] = line
        section.table(
            f"Overhead in CPU time of the program, geometric mean of {', '.join(names)}, Python "
            f"{env.version}",
            ["sampler", *[f"{1000 / rate:g} ms" for rate in RATES]], rows,
        )  # fmt: skip
        section.figure(
            "lines", f"intervals-{env.version}", f"Overhead by interval and sampler, {env.version}",
            {"x": [1000 / rate for rate in RATES], "values": lines, "across": "interval, ms",
             "label": "overhead, %", "log": True},
        )  # fmt: skip


def _figure(env: Environment, sampler: str, names: Sequence[str], rate: int, plan: Plan) -> Any:
    columns: list[Column] = []
    for name in names:
        say(f"intervals: {sampler}, {name}, {rate} Hz, Python {env.version}")
        more: dict[str, Any] = {"sampler": sampler, "slice": max(LONG_S, 2 / rate)}
        try:
            answer = run_worker(env, name, ["off", "sonde"], rate, plan, **more)
        except RuntimeError as error:
            sampled.left_out(error)
            return None
        columns.append(overhead(rounds_of(answer, rate).cpu, "sonde"))
    return geometric_mean(columns)
