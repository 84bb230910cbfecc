"""Time and memory of every view, every export and the web UI, of recordings of extreme size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cost.opening import Cost, cost_of, sonde
from harness.progress import say
from publish.markdown import Section, verdict
from workloads import scale_recordings

SECONDS_GOAL = 6.0
QUALITY_SECONDS_GOAL = 1.0
MEMORY_GOAL_MB = 1000.0
QUICK_SAMPLES = 200_000
WARM_UP_SAMPLES = 200
LIMIT_S = 60.0
"""Of CPU time; a command that takes more is stopped: the whole takes minutes and not hours."""

VIEWS = ("summary", "tree", "flat", "lines", "locks", "lock-table", "waits", "threads", "quality")
EXPORTS = ("collapsed", "speedscope", "pprof", "firefox", "perfetto", "otlp")
WEB_UI = "view --html"
LARGE_IN = {
    "samples": f"{scale_recordings.SAMPLES:,} samples",
    "functions": f"{scale_recordings.FUNCTIONS:,} functions",
    "locks": f"{scale_recordings.LOCKS:,} locks",
    "depth": f"stacks {scale_recordings.DEPTH:,} deep",
    "processes": f"{scale_recordings.PROCESSES:,} processes",
}


def commands(path: Path, out: Path) -> dict[str, list[str]]:
    """What is measured of a recording; `out` is where exports and the web UI go."""
    found = {view: [sonde(), "report", str(path), view, "--json"] for view in VIEWS}
    for name in EXPORTS:
        found[f"export {name}"] = [sonde(), "export", str(path), "--to", name, "-o", str(out)]
    found[WEB_UI] = [sonde(), "view", str(path), "--html", str(out)]
    return found


def report(section: Section, scratch: Path, quick: bool) -> None:
    out = scratch / "scale.out"
    env = _environment(scratch)
    _warm_up(scratch, out, env)
    slowest = quality = largest = 0.0
    unfinished = 0
    rows = []
    for shape, large_in in LARGE_IN.items():
        path = scratch / f"scale-{shape}.sonde"
        fewer = quick and shape == "samples"
        recording = f"{QUICK_SAMPLES:,} samples" if fewer else large_in
        say(f"scale: writing {recording}")
        _write(shape, path, QUICK_SAMPLES if fewer else None)
        size = path.stat().st_size
        for name, command in commands(path, out).items():
            say(f"scale: {name} of {recording}")
            cost = cost_of(command, env=env, limit=LIMIT_S)
            unfinished += not cost.finished
            written = out.stat().st_size if out.exists() else cost.bytes_out
            # One export of deep stacks is larger than all the others together.
            out.unlink(missing_ok=True)
            rows.append([recording, _mb(size), name, *_figures(cost), _mb(written)])
            if name == "quality":
                quality = max(quality, cost.cpu_seconds)
            elif name in VIEWS:
                slowest = max(slowest, cost.cpu_seconds)
            if name in VIEWS:
                largest = max(largest, cost.peak_mb)
        path.unlink()
    head = [
        "recording", "file, MB", "command", "CPU seconds", "wall seconds", "peak MB", "output, MB",
    ]  # fmt: skip
    section.table("Views, exports and the web UI of large recordings", head, rows)
    if unfinished:
        section.say(f"Stopped after {LIMIT_S:.0f} s of CPU time: {unfinished} commands.")
    section.goals(
        [
            verdict("slowest view", slowest, SECONDS_GOAL, "s", f"{slowest:.1f} CPU s"),
            verdict("quality, slowest", quality, QUALITY_SECONDS_GOAL, "s", f"{quality:.1f} CPU s"),
            verdict("view, most memory", largest, MEMORY_GOAL_MB, "MB", f"{largest:.0f} MB"),
        ]
    )


def _environment(scratch: Path) -> dict[str, str]:
    """Modules compiled once, as an installer leaves them, whatever this process is run with."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return env | {"PYTHONPYCACHEPREFIX": str(scratch / "compiled")}


def _warm_up(scratch: Path, out: Path, env: dict[str, str]) -> None:
    path = scratch / "scale-warm-up.sonde"
    say("scale: compiling")
    _write("samples", path, WARM_UP_SAMPLES)
    for command in commands(path, out).values():
        cost_of(command, env=env)
    out.unlink()
    path.unlink()


def _write(shape: str, path: Path, samples: int | None = None) -> None:
    """In another process: the peak of a command includes that of the process it is forked from."""
    count = [] if samples is None else [str(samples)]
    command = [sys.executable, scale_recordings.__file__, shape, str(path), *count]
    subprocess.run(command, check=True)


def _figures(cost: Cost) -> list[str]:
    if not cost.finished:
        figures = (cost.cpu_seconds, cost.seconds, cost.peak_mb)
        return [f"more than {figure:.0f}" for figure in figures]
    return [f"{cost.cpu_seconds:.1f}", f"{cost.seconds:.1f}", f"{cost.peak_mb:.0f}"]


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"
