"""Real programs at 10 kHz: no stack that cannot be, next to nothing lost, and chained stacks."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import pythons
from launching import Interpreter, must_run, sonde
from matrix import OLDEST_AND_NEWEST, on_both_ends

from truth.conftest import ATTEMPTS, RATE
from truth.stacks import PROGRAMS, Stacks, impossible, trace

CPU_SECONDS = "0.8"

# The smaller picture shows the same things: trace and recording draw the same one.
ARGUMENTS = {
    "richards": [],
    "deltablue": [],
    "json_dumps": [],
    "raytrace": ["--width=40", "--height=40"],
}


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of pyperformance's programs: its own where it is installed, else in the cache."""
    inside = Path("data-files", "benchmarks")
    spec = importlib.util.find_spec("pyperformance")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / inside
    cache = pythons.cache_folder().parent / "pyperformance"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "pyperformance" / inside).is_dir():
            done = subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
                + ["--target", cache, "pyperformance>=1.11"],
                capture_output=True,
                text=True,
                check=False,
                timeout=200,
            )
            if done.returncode:
                pytest.skip(f"pyperformance cannot be had here: {done.stderr[-200:]}")
    return cache / "pyperformance" / inside


@pytest.mark.parametrize(
    "name", ["richards", "raytrace", on_both_ends("deltablue"), on_both_ends("json_dumps")]
)
def test_no_impossible_stack_and_nothing_lost(
    python: Interpreter, benchmarks: Path, keep: Callable[[str], Path], name: str
) -> None:
    program = benchmarks / f"bm_{name}" / "run_benchmark.py"
    driver = PROGRAMS / "pyperformance_.py"
    path = keep(f"{name}-{python.version}")
    for _ in range(ATTEMPTS):
        command = [python.path, driver, program, CPU_SECONDS, *ARGUMENTS[name]]
        recording = must_run(path, command, "--rate", str(RATE)).recording
        if not recording.quality["lost"]:
            break
    quality = recording.quality
    assert quality["taken"] == len(recording.samples) > 7_000
    assert quality["lost"] + quality["undecodable"] <= 0.005 * quality["taken"]
    known = trace(python, driver, [str(program), "0", *ARGUMENTS[name]], path.with_suffix(".json"))
    own = {str(program), str(driver), str(PROGRAMS / "stand_in" / "pyperf.py")}
    found = impossible(Stacks(recording), known, own.__contains__)
    assert not found, "\n".join([f"{len(found)} impossible contexts:", *found[:10]])


# Of the tree from whole stacks. Two such trees of one program have 0.95 to 0.97 in common if each
# rests on tens of thousands of samples, and only 0.87 on four thousand.
CHAINED_OVERLAP = 0.9
ENOUGH_SECONDS = {"richards": "1.5", "deltablue": "2.5", "json_dumps": "1"}


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("name", ENOUGH_SECONDS)
def test_the_tree_put_together_from_pairs(
    python: Interpreter, benchmarks: Path, keep: Callable[[str], Path], name: str
) -> None:
    if python.minor != 12 and name != "richards":
        pytest.skip("one version shows it for the others, which differ in their frames only")
    command = [
        python.path,
        PROGRAMS / "pyperformance_.py",
        benchmarks / f"bm_{name}" / "run_benchmark.py",
        ENOUGH_SECONDS[name],
    ]
    paths = {}
    for stacks in ("whole", "chained"):
        paths[stacks] = keep(f"{name}-{stacks}-{python.version}")
        must_run(paths[stacks], command, "--what", "cpu", "--rate", "20000", "--stacks", stacks)
    done = sonde("diff", paths["whole"], paths["chained"], "--json")
    assert json.loads(done.stdout)["overlap"] >= CHAINED_OVERLAP
    told = json.loads(sonde("report", paths["chained"], "quality", "--json").stdout)["chaining"]
    assert told["samples"] > 3_000
    assert told["ambiguous_nodes"] < 0.1 * told["nodes"]
    assert told["three_levels"] <= told["one_level"] <= told["samples"]
