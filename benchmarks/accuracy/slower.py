"""How often `sonde fleet report slower` is wrong where nothing changed, and what it finds where
something did.

Runs of one program are put into two groups at random, over and over: whatever is called significant
between groups of the same is wrong. Runs in which one function takes more by a known part are
compared with those in which it does not. None of these programs was looked at when the test was
made.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cost.opening import sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

if TYPE_CHECKING:
    from sonde.model.group_comparison import Measured, Verdict

PROGRAMS = ("deltablue", "json", "raytrace", "deep")
SHARE = 0.05
"""Of the time that the function has which becomes slower."""
SLOWDOWNS = (1.1, 1.2, 1.5)
GROUPS = (3, 5, 10)
SPLITS = 400
LEVEL = 0.05
"""What `slower` promises."""
EXTRA = "extra"


@dataclass(frozen=True)
class Plan:
    seconds: float = 1.5
    base: int = 20
    slowed: int = 10
    slowdowns: Sequence[float] = SLOWDOWNS


QUICK = Plan(0.7, 8, 4, (1.5,))


@dataclass
class Run:
    """One process: what the test would be told of it alone."""

    of: Measured

    @staticmethod
    def together(runs: Sequence[Run]) -> Measured:
        """Sums of several are the sums of each."""
        from sonde.model.group_comparison import Measured

        shares: dict[int, tuple[float, float]] = {}
        for run in runs:
            for key, (one, squares) in run.of.shares.items():
                before = shares.get(key, (0.0, 0.0))
                shares[key] = (before[0] + one, before[1] + squares)
        return Measured(
            shares,
            len(runs),
            sum(run.of.samples for run in runs),
            sum(run.of.scatter for run in runs) / len(runs),
        )


def recorded(
    env: Environment, program: str, plan: Plan, scratch: Path
) -> tuple[dict[float, list[Run]], int]:
    """Runs by slowdown (1: none), in the order they were made in, and the slowed function's id."""
    from sonde.fleet.queries.engines import engine
    from sonde.fleet.queries.query import Question, StoreQuery
    from sonde.fleet.queries.slower import measured
    from sonde.fleet.store.labels import conditions
    from sonde.fleet.store.location import located
    from sonde.fleet.store.parts import open_store

    wanted = [1.0] * plan.base + [one for one in plan.slowdowns for _ in range(plan.slowed)]
    # Mixed: a machine that changes in the meantime changes for all.
    random.Random(1).shuffle(wanted)
    store = scratch / f"slower-{program}"
    target = str(Path(__file__).parents[1] / "workloads" / "slowed.py")
    for number, slowdown in enumerate(wanted):
        say(f"slower: {program}, run {number + 1} of {len(wanted)}")
        file = scratch / "run.sonde"
        # The function's time grows by the slowdown, all other time does not.
        share = SHARE * slowdown / (1 - SHARE + SHARE * slowdown)
        command = [env.python, target, program, str(plan.seconds), str(share)]
        subprocess.run(
            [sonde(), "run", "--what", "cpu", "-o", str(file), "--", *command],
            env=env.variables(), capture_output=True, check=True,
        )  # fmt: skip
        labels = ["--label", f"run={number}", "--label", "service=slowed"]
        subprocess.run(
            [sonde(), "fleet", "add", str(store), str(file), *labels],
            capture_output=True, check=True,
        )  # fmt: skip
        file.unlink()
    found: dict[float, list[Run]] = {}
    with engine("duckdb") as duckdb:
        shelf = open_store(located(str(store)))
        for number, slowdown in enumerate(wanted):
            where = tuple(conditions([f"run={number}"]))
            one = measured(StoreQuery(shelf, duckdb, Question(where)))
            found.setdefault(slowdown, []).append(Run(one))
        functions = StoreQuery(shelf, duckdb, Question()).functions
        key = functions.filter(functions.name == EXTRA).function.to_pyarrow().to_pylist()[0]
    return found, key


def compared(base: Sequence[Run], new: Sequence[Run]) -> list[Verdict]:
    from sonde.model.group_comparison import verdicts

    return verdicts(Run.together(base), Run.together(new))


@dataclass(frozen=True)
class Alike:
    """Groups of the same compared."""

    wrong: float
    """In which part of the comparisons anything was called significant."""
    single: float
    """Which part of all single questions had a chance of less than one in twenty."""
    asked: float
    """Questions in a comparison."""


def alike(runs: Sequence[Run], size: int) -> Alike:
    chance = random.Random(size)
    wrong = single = questions = 0
    for _ in range(SPLITS):
        taken = chance.sample(list(runs), 2 * size)
        found = [
            one
            for one in compared(taken[:size], taken[size:])
            if one.p is not None and one.adjusted is not None
        ]
        questions += len(found)
        single += sum(one.p <= LEVEL for one in found if one.p is not None)
        wrong += any(one.adjusted <= LEVEL for one in found if one.adjusted is not None)
    return Alike(wrong / SPLITS, single / max(questions, 1), questions / SPLITS)


def seen(base: Sequence[Run], slowed: Sequence[Run], key: int, size: int) -> float:
    """In which part of the comparisons the function that is slower was called so."""
    chance = random.Random(size)
    found = 0
    for _ in range(SPLITS):
        before, after = (chance.sample(list(of), size) for of in (base, slowed))
        found += any(
            one.function == key
            and one.adjusted is not None
            and one.adjusted <= LEVEL
            and one.new.mean > one.base.mean
            for one in compared(before, after)
        )
    return found / SPLITS


def report(
    section: Section, env: Environment, programs: Sequence[str], plan: Plan, scratch: Path
) -> None:
    same, power = [], []
    rates = []
    for program in programs:
        runs, key = recorded(env, program, plan, scratch)
        base = runs.pop(1.0)
        for size in (size for size in GROUPS if 2 * size <= len(base)):
            found = alike(base, size)
            rates.append(found.wrong)
            same.append(
                [program, str(size), f"{found.asked:.0f}", f"{100 * found.wrong:.1f} %",
                 f"{100 * found.single:.1f} %"]
            )  # fmt: skip
        for slowdown, slowed in sorted(runs.items()):
            sizes = [size for size in GROUPS if size <= min(len(base), len(slowed))]
            parts = [f"{100 * seen(base, slowed, key, size):.0f} %" for size in sizes]
            parts += ["–"] * (len(GROUPS) - len(sizes))
            power.append([program, f"{100 * (slowdown - 1):.0f} %", *parts])
    section.table(
        f"Groups of the same, put together at random {SPLITS} times",
        ["program", "processes a group", "functions asked about", "anything significant",
         "single p ≤ 0.05"],
        same,
    )  # fmt: skip
    section.table(
        f"A function with {100 * SHARE:.0f} % of the time takes more: how often that is seen",
        ["program", "slower by", *(f"{size} processes a group" for size in GROUPS)],
        power,
    )
    mean = sum(rates) / len(rates)
    section.goals(
        [
            verdict("wrong where nothing changed, in the mean", 100 * mean, 100 * LEVEL, "%",
                    f"{100 * mean:.1f} %"),
            verdict("the same in the worst case", 100 * max(rates), 200 * LEVEL, "%",
                    f"{100 * max(rates):.1f} %"),
        ]
    )  # fmt: skip
