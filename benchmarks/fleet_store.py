"""What questions of a whole fleet cost, by how many samples its store holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from accuracy import steady
from markdown import Section, verdict
from opening import Cost, cost_of, sonde
from packages import Environment
from progress import say

SIZES = {1_000_000: 50, 10_000_000: 500, 100_000_000: 5_000}
"""Samples, and of how many processes."""
QUICK = {100_000: 5, 1_000_000: 50}
SECONDS_BOUND = 10.0
MEMORY_BOUND_MB = 4096.0
BYTES_BOUND = 6.0
BOUND_VIEWS = ("flat", "tree")
SHOP = Path(__file__).parent.parent / "tests" / "targets" / "shop.py"

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
        recorded = [sonde(), "run", "-o", str(files[-1]), "--", *command]
        subprocess.run(recorded, env=env.variables(), capture_output=True, check=True)
    return files


def multiplied(store: Path, samples: int, processes: int, files: list[Path]) -> tuple[int, float]:
    """By a process of its own: a child's peak of memory is never below that of its parent."""
    began = time.perf_counter()
    command = [sys.executable, str(Path(__file__).with_name("multiplied.py")), str(store)]
    mixed = [files[i % len(CPU_PROGRAMS)] for i in range(FIGHTERS - 1)] + files[-1:]
    if processes < FIGHTERS:
        mixed = files
    done = subprocess.run(
        [*command, str(samples), str(processes), *map(str, mixed)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(done.stdout), time.perf_counter() - began


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
    slowest = max(costs[name][-1].seconds for name in BOUND_VIEWS)
    largest = max(costs[name][-1].peak_mb for name in BOUND_VIEWS)
    per_sample = float(storage[-1][4])
    section.bounds(
        [
            verdict("flat and tree", slowest, SECONDS_BOUND, "s", f"{slowest:.2f} s"),
            verdict("flat and tree", largest, MEMORY_BOUND_MB, "MB", f"{largest:.0f} MB"),
            verdict("whole store", per_sample, BYTES_BOUND, "bytes a sample"),
        ]
    )
