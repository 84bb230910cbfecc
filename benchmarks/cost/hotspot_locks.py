"""What recording the locks of a Java program costs it: slices with and without, in one JVM.

Eight threads on a machine with fewer processors want one thing all the time: a monitor, a
ReentrantLock, a bounded queue. What is compared is the time for a piece of work, waiting included.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from harness import jvms
from harness.progress import say
from publish.markdown import Section, verdict

PROGRAMS = ("monitor", "lock", "queue")
THREADS = 8
GOAL = 5.0
# Hofer, the same thesis: lock contention tracing in a modified HotSpot, multi-threaded benchmarks.
HOFER = "Hofer's lock tracing, inside of a modified HotSpot: 7.8 % on average."


def measure(
    home: Path, classes: Path, program: str, rounds: int, seconds: float, scratch: Path
) -> tuple[float, float]:
    """How much longer a piece takes, in percent, and how many events of locks came a second."""
    from sonde.recording.reader import read

    ratios, events = [], 0
    java = home / "bin" / "java"
    with jvms.running(java, classes, program, "Fights", THREADS) as it:
        for number in range(rounds):
            before = it.slice(seconds)
            path = scratch / f"{number}.recording"
            with jvms.sonde(it.pid, 1, path, "locks"):
                during = it.slice(seconds)
            events += read(path).quality["lock_events"]
            ratios.append(during / ((before + it.slice(seconds)) / 2))
    return 100 * (statistics.median(ratios) - 1), events / (rounds * seconds)


def report(section: Section, quick: bool) -> None:
    homes = jvms.homes()
    if not homes:
        section.say("There is no JDK on this machine.")
        return
    rounds, seconds = (2, 0.7) if quick else (15, 1.5)
    costs = []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for home, version in homes.items():
            classes = jvms.compiled(home, "Fights", scratch / version)
            for program in PROGRAMS[:1] if quick else PROGRAMS:
                say(f"hotspot-locks: {version} {program}")
                cost, rate = measure(home, classes, program, rounds, seconds, scratch)
                costs.append(cost)
                rows.append([f"JDK {version}", program, f"{cost:+.1f} %", f"{rate:,.0f}"])
    title = f"Time a piece of work takes more with its locks recorded, median of {rounds} pairs"
    section.table(title, ["", "program", "more time", "events a second"], rows)
    middle = statistics.median(costs)
    section.goals([verdict("median of the programs", middle, GOAL, "%", f"{middle:.1f} %")])
    section.say(HOFER)
