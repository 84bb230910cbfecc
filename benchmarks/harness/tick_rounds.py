"""Times each short round of one program while sonde records it: `tick_rounds.py JOB`.

    tick_rounds.py '{"program": "richards", "rate": 100, "what": "cpu", "seconds": 20, ...}'

Nothing is switched on or off in between. Which rounds a tick fell into tells the recording, and
ticks.py compares them with those beside it. With "timer" instead of what is recorded there is only
the timer, with "signal" the timer and a signal; their ticks are told here. Writes JSON: {"rounds":
[[began, wall_ns, cpu_ns, how slow the machine was], ...], "ticks": [...]}; `began` is by the clock
that recordings go by.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness.floor import TellingSignal, TellingTimer
from harness.pace import Pace
from harness.turns import MAX_RUN_LENGTH
from harness.worker import Sonde, calls_for
from workloads import programs

# The shorter a round, the more does a tick stand out in it.
ROUND_S = 0.0004
# Collections happen between stretches of rounds, which leave no more than programs do between
# their own. How fast the machine was is asked there as well. Rounds of a stretch are not alike: the
# first takes longer by a tenth. A period of the timer lies between the shortest stretch and the
# longest, so that a tick comes at any place.
STRETCH_NS = (10_000_000, 20_000_000)
# So that rounds begin at any phase of the timer: the longest wait before one.
APART_S = 0.0001
# The kernel has a tick of its own, by the clock. A sleep before each stretch keeps the two apart,
# as only the timer stands still meanwhile.
ASLEEP_S = 0.004

ALONE = {"timer": TellingTimer, "signal": TellingSignal}
"""Instead of sonde."""

Round = tuple[int, int, int, int]


def rounds_of(
    work: programs.Work, calls: int, seconds: float, chance: random.Random
) -> list[Round]:
    """For so long at the machine's full speed, unless that takes much longer."""
    told: list[Round] = []
    pace = Pace()
    longest = time.monotonic() + MAX_RUN_LENGTH * seconds
    while pace.full_s < seconds and time.monotonic() < longest:
        stretch = _stretch(work, calls, chance)
        slow = pace.of_round()
        told += [(*timed, slow) for timed in stretch]
        gc.collect()
    return told


def _stretch(work: programs.Work, calls: int, chance: random.Random) -> list[tuple[int, int, int]]:
    told = []
    since = 0
    enough = chance.uniform(*STRETCH_NS)
    time.sleep(chance.random() * ASLEEP_S)
    while since < enough:
        until = time.monotonic() + chance.random() * APART_S
        while time.monotonic() < until:
            pass
        began, cpu = time.monotonic_ns(), time.thread_time_ns()
        for _ in range(calls):
            work()
        took = time.thread_time_ns() - cpu
        told.append((began, time.monotonic_ns() - began, took))
        since += took
    return told


def run(job: dict[str, Any]) -> dict[str, Any]:
    work = programs.prepare(job["program"], short=True)
    calls = calls_for(work, ROUND_S)
    alone = ALONE.get(job["what"])
    ticking = alone(job["rate"]) if alone else Sonde(job, Path(job["folder"]))
    gc.collect()
    gc.freeze()  # what is there by now would only make each collection longer
    gc.disable()
    ticking.on()
    rounds = rounds_of(work, calls, job["seconds"], random.Random(job["rate"]))
    if isinstance(ticking, Sonde):
        ticking.end()
        return {"rounds": rounds}
    ticks = ticking.ticks()
    ticking.off()
    return {"rounds": rounds, "ticks": ticks}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
