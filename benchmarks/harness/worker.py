"""Runs one program in slices inside one process, with a profiler on or off, and times each slice.

    worker.py '{"program": "richards", "conditions": ["off", "floor", "sonde"], "rate": 1000, ...}'

The same program differs by a fifth between two processes on the machines this was made for, and
within one process by as much from one second to the next, even with nothing else running: the
host's other guests share its cores. Two slices of ten milliseconds in a row, though, mostly agree
within three percent. So the conditions take turns in one process, slice by slice, in an order drawn
anew for every round, and only slices of the same round are compared. Each is timed only after the
program has run a while under its condition. Writes JSON: {"slices": [[round, condition, cpu_ns,
wall_ns], ...], "others": [processors taken by others, per round], "pace": [how slow the machine
was, per round], "calls": per slice, "quality": sonde's own figures}.
"""

from __future__ import annotations

import gc
import json
import math
import os
import random
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cost.counting import READ, Reader
from harness import peers
from harness.floor import EmptySignal, EmptyTimer
from harness.turns import Floor, Off, Switch, in_turns
from workloads import programs

WARM_S = 0.4
# A recorder that was just told to go on arms the threads and looks around, on a core of its own but
# beside ours; by then it waits for samples.
SETTLE_S = 0.012
# What the reader of counters is told before a slice under this condition.
COUNTED = {"held": "1", "read": READ}


class Sonde:
    """One session for all slices, paused in between."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        sys.path.insert(0, job["source"])
        from sonde.record.session import Session

        self.quality: dict[str, Any] = {}
        sampler = job.get("sampler", "auto")
        self._session = Session(
            folder / "worker.sonde",
            rate=job["rate"],
            what=job["what"],
            sampler="auto" if sampler == "chained" else sampler,
            **job.get("calls", {}),
        )
        if sampler == "chained":  # which only commands can be asked for
            self._session._options.stacks = "chained"
        # Recorders run on the interpreter sonde is installed for, whichever runs the program.
        ours, sys.executable = sys.executable, job["recorder"]
        self._session.start()
        sys.executable = ours
        self._session.pause()

    def on(self) -> None:
        self._session.resume()

    def off(self) -> None:
        self._session.pause()

    def end(self) -> None:
        self._session.stop()
        self.quality = self._session.quality


class Restarted:
    """A session for each slice: hooks of allocators are in place while one is paused, too."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        self.quality: dict[str, Any] = {}
        self._job, self._folder = job, folder
        self._session: Sonde | None = None

    def on(self) -> None:
        self._session = Sonde(self._job, self._folder)
        self._session.on()

    def off(self) -> None:
        if self._session is not None:
            self._session.end()
            self.quality = self._session.quality
            (self._folder / "worker.sonde").unlink(missing_ok=True)
        self._session = None

    def end(self) -> None:
        """Nothing is left of it."""


class Tracing:
    """cProfile, the standard library's profiler of every call."""

    def __init__(self) -> None:
        import cProfile

        self._make = cProfile.Profile
        self._profile = self._make()

    def on(self) -> None:
        self._profile = self._make()
        self._profile.enable()

    def off(self) -> None:
        self._profile.disable()


class Pyinstrument:
    def __init__(self, rate: int) -> None:
        import pyinstrument

        self._make = pyinstrument.Profiler
        self._interval = 1 / rate
        self._profiler: Any = None

    def on(self) -> None:
        self._profiler = self._make(interval=self._interval)
        self._profiler.start()

    def off(self) -> None:
        self._profiler.stop()


class Tracemalloc:
    """The standard library's tracer of every allocation, with as many frames as asked for."""

    FRAMES = 1

    def on(self) -> None:
        tracemalloc.start(self.FRAMES)

    def off(self) -> None:
        tracemalloc.stop()


class Memray:
    """Writes every allocation to a file, which each slice begins anew."""

    def __init__(self, folder: Path) -> None:
        import memray

        self._make = memray.Tracker
        self._file = folder / "memray.bin"
        self._tracker: Any = None

    def on(self) -> None:
        self._file.unlink(missing_ok=True)
        self._tracker = self._make(self._file)
        self._tracker.__enter__()

    def off(self) -> None:
        self._tracker.__exit__(None, None, None)


class Peer:
    """A profiler in a process of its own, attached for each slice anew."""

    def __init__(self, name: str, job: dict[str, Any], folder: Path) -> None:
        output = folder / "peer.out"
        self._attached = peers.Attached(name, job["tools"], os.getpid(), job["rate"], output)

    def on(self) -> None:
        self._attached.start()

    def off(self) -> None:
        self._attached.stop()


class Counted:
    """The threads' counters open, and read or not."""

    def __init__(self, reader: Reader, said: str) -> None:
        self._reader = reader
        self._said = said

    def on(self) -> None:
        self._reader.say(self._said)

    def off(self) -> None:
        self._reader.say("0")


def switch_for(
    condition: str, job: dict[str, Any], folder: Path, sonde: Sonde | Restarted | None
) -> Switch:
    if condition in ("off", "null"):
        return Off(sonde)
    if condition == "floor":
        return Floor(EmptyTimer(job["rate"]), sonde)
    if condition == "signal":
        return Floor(EmptySignal(job["rate"]), sonde)
    if condition == "sonde" and sonde:
        return sonde
    if condition == "cProfile":
        return Tracing()
    if condition == "pyinstrument":
        return Pyinstrument(job["rate"])
    if condition == "tracemalloc":
        return Tracemalloc()
    if condition == "memray":
        return Memray(folder)
    return Peer(condition, job, folder)


def timed(work: programs.Work, calls: int) -> tuple[int, int]:
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(calls):
        work()
    return time.process_time_ns() - cpu, time.perf_counter_ns() - wall


def from_the_same_start(work: programs.Work, calls: int) -> tuple[int, int]:
    """A slice in which garbage is collected as often, and where, as in every other one."""
    gc.collect()
    return timed(work, calls)


def calls_for(work: programs.Work, seconds: float) -> int:
    """How often to call for a slice of that length, after the interpreter has specialised."""
    spent = 0
    while spent < WARM_S * 1e9:
        spent += timed(work, 1)[1]
    one = min(timed(work, 1)[1] for _ in range(3))
    return math.ceil(seconds * 1e9 / one)


def settle(work: programs.Work, rate: int, chance: random.Random) -> None:
    """Runs the program until what was just switched on has come to rest.

    A timer starts when it is switched on. So that slices do not all begin at the same phase of it,
    and hold as many ticks on average as the rate brings in that time, a random part of a period is
    waited away first: in this thread, whose CPU time the timer goes by.
    """
    end = time.perf_counter() + chance.random() / rate
    while time.perf_counter() < end:
        pass
    end = time.perf_counter() + SETTLE_S
    work()
    while time.perf_counter() < end:
        work()


def run(job: dict[str, Any], scratch: Path) -> dict[str, Any]:
    work = programs.prepare(job["program"])
    calls = calls_for(work, job["slice"])
    chance = random.Random(job["seed"])
    kind = Restarted if job["what"] == "objects" else Sonde
    sonde = kind(job, scratch) if "sonde" in job["conditions"] else None
    reader = Reader(job) if "read" in job["conditions"] else None
    switches: dict[str, Switch] = {}
    for name in job["conditions"]:
        if reader and name in COUNTED:
            switches[name] = Counted(reader, COUNTED[name])
        else:
            switches[name] = switch_for(name, job, scratch, sonde)
    gc.collect()
    gc.freeze()  # what is there by now would only make each collection longer
    answer = in_turns(
        switches,
        lambda: settle(work, job["rate"], chance),
        lambda: from_the_same_start(work, calls),
        chance,
        job["least"],
        job["seconds"],
    )
    answer["calls"] = calls
    if sonde:
        sonde.end()
    answer["quality"] = sonde.quality if sonde else {}
    if reader:
        reader.end()
        answer["looks"] = reader.rounds / reader.seconds
    return answer


def main() -> None:
    job = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(run(job, Path(scratch))))


if __name__ == "__main__":
    main()
