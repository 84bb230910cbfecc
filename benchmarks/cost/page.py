#!/usr/bin/env python3
"""What the page can take: its size, the time to make it, and how it feels in a browser.

    benchmarks/cost/page.py                this part alone, without the packages of the others
    benchmarks/cost/page.py --samples N    a smaller recording, to try it

The browser's part needs chromium (`make page-test` installs it where it may).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cost.opening import cost_of, sonde
from harness.progress import say
from publish.markdown import Section, verdict
from workloads import crowd

UI = Path(__file__).resolve().parents[2] / "ui"
SAMPLES = 1_000_000
CONTEXTS = 50_000
THREADS = 200
CONTENTIONS = 100_000
SIZE_GOAL_MB = 15.0
PAINT_GOAL_S = 2.0
INTERACTION_GOAL_MS = 100.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def report(section: Section, scratch: Path, samples: int = SAMPLES) -> None:
    contexts, contentions = CONTEXTS, CONTENTIONS * samples // SAMPLES
    recording, page = scratch / "crowd.sonde", scratch / "crowd.html"
    say(f"page: writing {samples:,} samples of {THREADS} threads, {contentions:,} contentions")
    crowd.write(recording, samples, contexts, THREADS, contentions)
    say("page: making it")
    made = cost_of([sonde(), "view", str(recording), "--html", str(page)])
    size = page.stat().st_size / 1e6
    section.table(
        f"`sonde view FILE --html OUT`: {samples:,} samples, {contexts:,} contexts, "
        f"{THREADS} threads, {contentions:,} contentions",
        ["", "seconds", "peak MB", "recording, MB", "page, MB"],
        [
            [
                "read, encoded, written",
                f"{made.seconds:.1f}",
                f"{made.peak_mb:.0f}",
                f"{recording.stat().st_size / 1e6:.1f}",
                f"{size:.1f}",
            ]
        ],
    )
    goals = [verdict("the page", size, SIZE_GOAL_MB, "MB", f"{size:.1f} MB")]
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        section.goals(goals)
        section.say("Not measured in a browser: there is no chromium here.")
        return
    say("page: in the browser")
    told = felt(recording, page, browser)
    section.table(
        "In chromium, at 1280 × 800: milliseconds after the data is read until each view is drawn",
        ["from", *told["views"]],
        [
            [where, *(f"{ms:.0f}" for ms in times)]
            for where, times in (("server", told["server"]), ("file", told["file"]))
        ],
    )
    section.table(
        "Milliseconds from a gesture until its last frame is drawn, and of the page's processor "
        "time for it with all that follows; the most of three",
        ["gesture", "ms", "processor ms"],
        [[name, f"{ms:.0f}", f"{cpu:.0f}"] for name, (ms, cpu) in told["gestures"].items()],
    )
    paint = max(*told["server"], *told["file"]) / 1000
    slowest = max(ms for ms, _ in told["gestures"].values())
    goals += [
        verdict("the slowest view", paint, PAINT_GOAL_S, "s", f"{paint:.2f} s"),
        verdict("slowest gesture", slowest, INTERACTION_GOAL_MS, "ms", f"{slowest:.0f} ms"),
    ]
    section.goals(goals)


def felt(recording: Path, page: Path, browser: str) -> dict[str, Any]:
    """Measured by ui/scale/measure.mjs, which drives the browser."""
    done = subprocess.run(
        ["node", str(UI / "scale" / "measure.mjs"), sonde(), str(recording), str(page)],
        env=os.environ | {"SONDE_BROWSER": browser},
        cwd=UI,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=SAMPLES)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        section = Section("page")
        report(section, Path(scratch), chosen.samples)
        print(section.text())


if __name__ == "__main__":
    main()
