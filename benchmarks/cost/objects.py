"""What sampling objects costs, beside profilers of memory that record every allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cost.overhead import run_worker
from harness.paired import Column, geometric_mean, median, overhead, rounds_of
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent

if TYPE_CHECKING:
    from cost.overhead import Plan
    from harness.packages import Environment

WHAT = "objects"
RATE = 1000
"""Of the clock by which slices are cut; objects are sampled by bytes."""
GOAL = 0.04
WORST_GOAL = 0.08
NUMERIC_GOAL = 0.005
PROGRAMS = (
    "richards", "deltablue", "raytrace", "deepcopy", "json", "json_loads", "logging", "nbody",
)  # fmt: skip
NUMERIC = ("nbody",)
PEERS = ("tracemalloc", "memray")
PACKAGES = ("memray",)


def report(section: Section, envs: list[Environment], names: list[str], plan: Plan) -> None:
    lines = []
    for env in envs:
        peers = [peer for peer in PEERS if peer not in PACKAGES or env.has(peer)]
        rows: list[list[str]] = []
        found: dict[str, list[Column]] = {condition: [] for condition in ("sonde", *peers)}
        worst, numeric = 0.0, []
        for name in names:
            say(f"objects: {name}, Python {env.version}")
            try:
                answer = run_worker(env, name, ["off", *found], RATE, plan, what=WHAT)
            except RuntimeError as error:
                say(f"  left out: {error}")
                continue
            rounds = rounds_of(answer, RATE)
            ratios = {condition: overhead(rounds.cpu, condition) for condition in found}
            for condition, ratio in ratios.items():
                found[condition].append(ratio)
            worst = max(worst, median(ratios["sonde"]).value)
            if name in NUMERIC:
                numeric.append(ratios["sonde"])
            note = f"{rounds.count}" + (" (disturbed)" if rounds.noisy else "")
            rows.append([name, *(percent(median(ratio)) for ratio in ratios.values()), note])
        if not rows:
            continue
        means = {condition: geometric_mean(ratios) for condition, ratios in found.items()}
        rows.append(["**geometric mean**", *map(percent, means.values()), ""])
        head = ["program", *(f"{condition}, CPU" for condition in found), "rounds"]
        section.table(f"Objects and their survival, Python {env.version}", head, rows)
        total = means["sonde"]
        lines.append(
            measured_verdict(
                f"objects, Python {env.version}", total.times(100), 100 * GOAL, "%", percent(total)
            )
        )
        lines.append(
            f"the slowest program, Python {env.version}: {100 * worst:.1f} % "
            f"(goal {100 * WORST_GOAL:.0f} %): {'met' if worst <= WORST_GOAL else '**missed**'}"
        )
        for ratio in numeric:
            figure = median(ratio)
            lines.append(
                measured_verdict(
                    f"objects, numeric code, Python {env.version}",
                    figure.times(100), 100 * NUMERIC_GOAL, "%", percent(figure),
                )
            )  # fmt: skip
    section.goals(lines)
