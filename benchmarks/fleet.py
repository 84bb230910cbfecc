"""What questions of a whole fleet cost, by how many samples its store holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from markdown import Section, verdict
from opening import Cost, cost_of, sonde
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


def seeds(scratch: Path, seconds: float) -> list[Path]:
    """Real recordings of a program with threads, locks and waits."""
    files = []
    for heavy in (1, 2, 4):
        file = scratch / f"seed-{heavy}.sonde"
        command = [sonde(), "run", "-o", str(file), "--what", "cpu,locks,waits,threads", "--",
                   sys.executable, str(SHOP), str(heavy), str(seconds)]  # fmt: skip
        subprocess.run(command, capture_output=True, check=True)
        files.append(file)
    return files


def report(section: Section, scratch: Path, quick: bool) -> None:
    import multiplied

    files = seeds(scratch, 3 if quick else 10)
    sizes = QUICK if quick else SIZES
    costs: dict[str, list[Cost]] = {name: [] for name in QUESTIONS}
    storage = []
    for samples, processes in sizes.items():
        store = scratch / "store"
        say(f"fleet: making {samples:,} samples of {processes:,} processes")
        began = time.perf_counter()
        size = multiplied.multiply(store, files, samples, processes)
        made = time.perf_counter() - began
        whole = sum(file.stat().st_size for file in (store / "samples").rglob("*.parquet"))
        figures = (f"{size / 1e6:.1f}", f"{whole / samples:.2f}", f"{size / samples:.2f}")
        storage.append([f"{samples:,}", f"{processes:,}", *figures, f"{made:.0f}"])
        for name, question in QUESTIONS.items():
            say(f"fleet: {name} of {samples:,}")
            costs[name].append(
                cost_of([sonde(), "fleet", "report", str(store), *question, "--json"])
            )
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
