"""Time and memory of every view, every export and the web UI, of recordings of extreme size."""

from __future__ import annotations

import os
from pathlib import Path

from cost.opening import cost_of, sonde
from harness.progress import say
from publish.markdown import Section, verdict
from workloads import scale_recordings

SECONDS_GOAL = 6.0
QUALITY_SECONDS_GOAL = 1.0
MEMORY_GOAL_MB = 1000.0
QUICK_SAMPLES = 200_000

VIEWS = ("summary", "tree", "flat", "lines", "locks", "lock-table", "waits", "threads", "quality")
EXPORTS = ("collapsed", "speedscope", "pprof", "firefox", "perfetto", "otlp")


def commands(path: Path, scratch: Path) -> dict[str, list[str]]:
    found = {view: [sonde(), "report", str(path), view, "--json"] for view in VIEWS}
    for name in EXPORTS:
        out = str(scratch / f"scale.{name}")
        found[f"export {name}"] = [sonde(), "export", str(path), "--to", name, "-o", out]
    found["view --html"] = [sonde(), "view", str(path), "--html", str(scratch / "scale.html")]
    return found


def report(section: Section, scratch: Path, quick: bool) -> None:
    slowest = quality = largest = 0.0
    rows = []
    for shape in scale_recordings.SHAPES:
        path = scratch / f"scale-{shape}.sonde"
        say(f"scale: writing many {shape}")
        scale_recordings.write(shape, path, QUICK_SAMPLES if quick else None)
        size = f"{path.stat().st_size / 1e6:.1f}"
        for name, command in commands(path, scratch).items():
            say(f"scale: {name} of many {shape}")
            cost = cost_of(command)
            rows.append(
                [
                    f"many {shape}",
                    size,
                    name,
                    f"{cost.cpu_seconds:.1f}",
                    f"{cost.seconds:.1f}",
                    f"{cost.peak_mb:.0f}",
                ]
            )
            if name == "quality":
                quality = max(quality, cost.cpu_seconds)
            elif name in VIEWS:
                slowest = max(slowest, cost.cpu_seconds)
            if name in VIEWS:
                largest = max(largest, cost.peak_mb)
        os.unlink(path)
    head = ["recording", "file, MB", "command", "CPU seconds", "wall seconds", "peak MB"]
    section.table("Views, exports and the web UI of large recordings", head, rows)
    section.goals(
        [
            verdict("slowest view", slowest, SECONDS_GOAL, "s", f"{slowest:.1f} CPU s"),
            verdict("quality, slowest", quality, QUALITY_SECONDS_GOAL, "s", f"{quality:.1f} CPU s"),
            verdict("view, most memory", largest, MEMORY_GOAL_MB, "MB", f"{largest:.0f} MB"),
        ]
    )
