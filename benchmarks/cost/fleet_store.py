"""What questions of a whole fleet cost, by how many samples its store holds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from accuracy.accuracy import steady
from cost.opening import Cost, cost_of, sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

SIZES = {1_000_000: 50, 10_000_000: 500, 100_000_000: 5_000}
"""Samples, and of how many processes."""
QUICK = {100_000: 5, 1_000_000: 50}
SECONDS_GOAL = 10.0
MEMORY_GOAL_MB = 4096.0
BYTES_GOAL = 6.0
GROWTH_GOAL = 1.3
"""Times what ten times the samples should take: ten times as long."""
GOAL_VIEWS = ("flat", "tree")
MULTIPLIED = Path(__file__).parents[1] / "workloads" / "multiplied.py"
SHOP = Path(__file__).parents[2] / "tests" / "targets" / "shop.py"

QUESTIONS: dict[str, list[str]] = {
    "flat": ["flat"],
    "flat of a third": ["flat", "--where", "region=eu"],
    "tree": ["tree"],
    "locks": ["locks", "--by", "kind,lock,owner_function"],
    "threads": ["threads", "--top", "100"],
    "diff": ["diff", "--base", "version=1", "--new", "version=2"],
    "slower": ["slower", "--base", "version=1", "--new", "version=2"],
    "blockers": ["blockers"],
    "outliers": ["outliers"],
    "heat": ["heat"],
}


CPU_PROGRAMS = ("richards", "json", "raytrace")
FIGHTERS = 50
"""One process in so many is a program whose threads fight for a lock; the others compute."""


def seeds(env: Environment, scratch: Path, seconds: float) -> list[Path]:
    """Real recordings, as `sonde run` makes them unless told."""
    commands = [steady(env, name, seconds) for name in CPU_PROGRAMS]
    commands.append([env.python, str(SHOP), "1", str(seconds)])
    files = []
    for number, command in enumerate(commands):
        say(f"fleet: recording {Path(command[1]).name if number == 3 else CPU_PROGRAMS[number]}")
        files.append(scratch / f"seed-{number}.sonde")
        recorded = [sonde(), "run", "--force", "-o", str(files[-1]), "--", *command]
        subprocess.run(recorded, env=env.variables(), capture_output=True, check=True)
    return files


def multiplied(store: Path, samples: int, processes: int, files: list[Path]) -> tuple[int, float]:
    """By a process of its own: a child's peak of memory is never below that of its parent."""
    began = time.perf_counter()
    command = [sys.executable, str(MULTIPLIED), str(store)]
    mixed = [files[i % len(CPU_PROGRAMS)] for i in range(FIGHTERS - 1)] + files[-1:]
    if processes < FIGHTERS:
        mixed = files
    done = subprocess.run(
        [*command, str(samples), str(processes), *map(str, mixed)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(done.stdout), time.perf_counter() - began


FIGHTS = 6


def of_fighters(section: Section, env: Environment, scratch: Path, seconds: float) -> None:
    """Real recordings of a program that does little but wait: what bytes a sample are at worst."""
    store = scratch / "fighters"
    for number in range(FIGHTS):
        say(f"fleet: program that fights for locks, {number + 1} of {FIGHTS}")
        file = scratch / f"fighter-{number}.sonde"
        command = [sonde(), "run", "--what", "cpu,locks,waits", "-o", str(file), "--"]
        subprocess.run(
            [*command, env.python, str(SHOP), "1", str(seconds)],
            env=env.variables(), capture_output=True, check=True,
        )  # fmt: skip
        add = [sonde(), "fleet", "add", str(store), str(file)]
        subprocess.run([*add, "--label", "service=shop"], capture_output=True, check=True)
    subprocess.run([sonde(), "fleet", "compact", str(store)], capture_output=True, check=True)
    sizes, rows = _merged_sizes(store)
    samples = rows["samples"]
    whole = sum(sizes.values())
    section.table(
        f"Fights for locks, recorded with waits ({samples:,} samples of {FIGHTS} runs)",
        ["table", "rows", "bytes a row", "bytes a sample"],
        [
            [name, f"{rows[name]:,}", f"{size / max(rows[name], 1):.2f}", f"{size / samples:.2f}"]
            for name, size in sorted(sizes.items(), key=lambda one: -one[1])
        ]
        + [["all", "", "", f"{whole / samples:.2f}"]],
    )


def _merged_sizes(store: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes and rows by table of the one part that counts."""
    (part,) = (store / "parts").rglob("*.merged.json")
    rows = json.loads(part.read_text())["rows"]
    files = {file.relative_to(store).parts[0]: file for file in store.rglob("*.merged.parquet")}
    return {name: file.stat().st_size for name, file in files.items()}, rows


def report(section: Section, env: Environment, scratch: Path, quick: bool) -> None:
    files = seeds(env, scratch, 3 if quick else 12)
    sizes = QUICK if quick else SIZES
    costs: dict[str, list[Cost]] = {name: [] for name in QUESTIONS}
    storage = []
    for samples, processes in sizes.items():
        store = scratch / "store"
        say(f"fleet: making {samples:,} samples of {processes:,} processes")
        size, made = multiplied(store, samples, processes, files)
        whole = sum(file.stat().st_size for file in (store / "samples").rglob("*.parquet"))
        figures = (f"{size / 1e6:.1f}", f"{whole / samples:.2f}", f"{size / samples:.2f}")
        storage.append([f"{samples:,}", f"{processes:,}", *figures, f"{made:.0f}"])
        for name, question in QUESTIONS.items():
            say(f"fleet: {name} of {samples:,}")
            command = [sonde(), "fleet", "report", str(store), *question, "--json"]
            costs[name].append(cost_of(command))
        shutil.rmtree(store)
    section.table(
        "The store",
        ["samples", "processes", "MB", "bytes a sample", "with all tables", "made in, s"],
        storage,
    )
    head = ["view", *(f"{samples:,} samples" for samples in sizes)]
    section.table(
        "`sonde fleet report STORE VIEW --json` on DuckDB: seconds, peak MB",
        head,
        [[name, *(f"{one.seconds:.2f} s, {one.peak_mb:.0f} MB" for one in of)]
         for name, of in costs.items()],
    )  # fmt: skip
    of_fighters(section, env, scratch, 2 if quick else 5)
    slowest = max(costs[name][-1].seconds for name in GOAL_VIEWS)
    largest = max(costs[name][-1].peak_mb for name in GOAL_VIEWS)
    per_sample = float(storage[-1][4])
    steps = list(sizes)[-2:]
    times = [max(costs[name][at].seconds for name in GOAL_VIEWS) for at in (-2, -1)]
    growth = times[1] / times[0] / (steps[1] / steps[0])
    section.goals(
        [
            verdict("flat and tree", slowest, SECONDS_GOAL, "s", f"{slowest:.2f} s"),
            verdict("flat and tree", largest, MEMORY_GOAL_MB, "MB", f"{largest:.0f} MB"),
            verdict("whole store", per_sample, BYTES_GOAL, "bytes a sample"),
            verdict("growth from the second largest to the largest", growth, GROWTH_GOAL,
                    "of linear", f"{growth:.2f} of linear"),
        ]
    )  # fmt: skip
