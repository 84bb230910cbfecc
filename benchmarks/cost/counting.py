"""What it costs a program that its threads' counters are read (`--what threads`).

    counting.py PID      the reader: `0` shuts the counters, `1` opens them, `2` also reads them,
                         one digit a line; answers each with the rounds of reads it made since

A read ten times a second is too little to be seen beside a machine's own unrest. So the counters
are read hundreds of times a second, which gives the price of one round; held open without a read
they give what the kernel does for them at every switch of threads. Both together, at ten rounds a
second, are what sonde costs.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cost.overhead import Plan
    from harness.packages import Environment
    from publish.markdown import Section

RATE = 10
GOAL = 0.002
# Between two rounds of reads: often, but the reader must not be a busy neighbour.
APART_S = 0.003
READ = "2"
# Fifty threads differ more from slice to slice than one does.
LONGER = {"threads": 4}


class Reader:
    """The reader as the program's process sees it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.rounds = 0
        self.seconds = 0.0
        """That it read for, in all."""
        self._reading_since = 0.0
        self._process = subprocess.Popen(
            [job["recorder"], __file__, str(os.getpid())],
            env={**os.environ, "PYTHONPATH": job["source"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def say(self, digit: str) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{digit}\n".encode())
        self._process.stdin.flush()
        self.rounds += int(self._process.stdout.readline())
        if self._reading_since:
            self.seconds += time.monotonic() - self._reading_since
        self._reading_since = time.monotonic() if digit == READ else 0.0

    def end(self) -> None:
        self._process.communicate()


def serve(pid: int) -> None:
    from sonde.record.system.thread_counters import Countable, Counters

    countable = Countable()
    opened: list[Counters] = []
    reading, rounds = False, 0
    while True:
        ready, _, _ = select.select([0], [], [], APART_S if reading else None)
        if not ready:
            for counters in opened:
                counters.step()
            rounds += 1
            continue
        said = os.read(0, 2).decode().strip()
        if not said:
            return
        for counters in opened:
            counters.close()
        opened.clear()
        if said in "12":
            tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
            opened += [Counters(pid, tid, countable) for tid in tids]
        reading = said == READ
        print(rounds, flush=True)
        rounds = 0


def report(section: Section, env: Environment, names: list[str], plan: Plan) -> None:
    from cost.overhead import run_worker
    from harness.paired import geometric_mean, median, overhead, rounds_of
    from harness.progress import say
    from publish.markdown import measured_verdict, micro, percent
    from workloads import programs

    rows, ratios = [], []
    for name in names:
        say(f"counting: {name}, Python {env.version}")
        longer = replace(plan, seconds=plan.seconds * LONGER.get(name, 1))
        answer = run_worker(env, name, ["off", "held", "read"], 1000, longer)
        slices = rounds_of(answer, RATE)
        cpu = slices.cpu
        looks = answer["looks"] * slices.wall["read"] / 1e9
        look_us = (cpu["read"] - cpu["held"]) / 1e3 / looks
        held = overhead(cpu, "held")
        both = held + look_us * RATE / 1e6
        if name not in programs.APART:
            ratios.append(both)
        rows.append(
            [
                name,
                percent(median(held)),
                micro(median(look_us)),
                percent(median(both)),
                f"{slices.count}" + (" (disturbed)" if slices.noisy else ""),
            ]
        )
    total = geometric_mean(ratios)
    rows.append(["**geometric mean**", "", "", percent(total), ""])
    head = ["program", "counters held open, CPU", "µs a round of reads"]
    head += [f"both at {RATE} rounds a second", "rounds"]
    section.table(f"Threads' counters, Python {env.version}", head, rows)
    section.goals(
        [
            measured_verdict(
                f"overhead at {RATE} Hz", total.times(100), 100 * GOAL, "%", percent(total)
            )
        ]
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]))
