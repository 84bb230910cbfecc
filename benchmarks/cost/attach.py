"""What attaching costs: how long until it records, and how long the target stands still.

A heartbeat thread in the target notes the longest gap between two beats. A gap is the machine's as
well as the profiler's, so the longest gap of as long a time without a profiler stands beside.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

ATTACH_GOAL_S = 1.0
STALL_GOAL_MS = 20.0
THREADS = 500
HEARTBEAT = Path(__file__).parents[1] / "workloads" / "heartbeat.py"


class Running:
    def __init__(self, env: Environment, threads: int) -> None:
        self._process = subprocess.Popen(
            [env.python, HEARTBEAT, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.pid = int(self._hear())
        time.sleep(0.5)

    def _hear(self) -> float:
        assert self._process.stdout is not None
        answer: float = json.loads(self._process.stdout.readline())
        return answer

    def longest_gap(self) -> float:
        """Since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._hear()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def running(env: Environment, threads: int) -> Iterator[Running]:
    started = Running(env, threads)
    try:
        yield started
    finally:
        started.end()


# ---- what is measured


@dataclass
class Attached:
    seconds: float
    """From the command until the target is recorded."""
    stopped_ms: float
    by: str


def attach_once(pid: int, path: Path, length: float) -> Attached:
    """`sonde attach`, with the time until the target is recorded."""
    from sonde.recording.reader import read

    began = time.time()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sonde",
            "attach",
            str(pid),
            "--force",
            "-o",
            path,
            "--for",
            f"{length}",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    facts = read(path).target
    # A recording begins when its first process is admitted.
    seconds, entered = facts["started"] - began, facts["entered"]
    return Attached(seconds, entered.get("stopped_ns", 0) / 1e6, entered["by"])


def times(section: Section, envs: list[Environment], rounds: int, scratch: Path) -> None:
    rows, worst = [], 0.0
    for env in envs:
        say(f"attach: {env.version}")
        with running(env, 4) as it:
            found = [attach_once(it.pid, scratch / "a.sonde", 0.3) for _ in range(rounds)]
        taken = [one.seconds for one in found]
        worst = max(worst, *taken)
        stopped = [one.stopped_ms for one in found]
        rows.append(
            [
                f"CPython {env.version}, by {found[0].by}",
                f"{statistics.median(taken):.2f}",
                f"{max(taken):.2f}",
                f"{statistics.median(stopped):.2f}",
                f"{max(stopped):.2f}",
            ]
        )
    head = ["target", "s until recorded", "longest", "ms one thread stood still", "longest"]
    section.table(f"`sonde attach` to a process with 4 threads, {rounds} times", head, rows)
    section.goals([verdict("attach, longest", worst, ATTACH_GOAL_S, "s", f"{worst:.2f} s")])


def stalls(
    section: Section, env: Environment, py_spy: list[str] | None, rounds: int, scratch: Path
) -> None:
    commands: dict[str, list[str]] = {
        "nothing": [],
        "sonde attach": [
            sys.executable, "-m", "sonde", "attach", "PID", "--for", "2", "--force", "-o",
            str(scratch / "b.sonde"),
        ],
    }  # fmt: skip
    if py_spy is not None:
        record = [*py_spy, "record", "--pid", "PID", "--duration", "2", "--rate", "100", "-o"]
        commands["py-spy record"] = [*record, str(scratch / "c.svg")]
        commands["py-spy record --nonblocking"] = [
            *record, str(scratch / "d.svg"), "--nonblocking",
        ]  # fmt: skip
    longest: dict[str, list[float]] = {name: [] for name in commands}
    with running(env, THREADS) as it:
        for number in range(rounds):
            for name, command in commands.items():
                say(f"stall: {name}, {number + 1} of {rounds}")
                it.longest_gap()
                if command:
                    words = [word.replace("PID", str(it.pid)) for word in command]
                    subprocess.run(words, check=True, capture_output=True)
                else:
                    time.sleep(2.5)
                longest[name].append(1000 * it.longest_gap())
    rows = [
        [name, f"{statistics.median(found):.1f}", f"{max(found):.1f}"]
        for name, found in longest.items()
    ]
    head = ["attached by", "longest gap, ms, median", "longest"]
    section.table(f"Heartbeat of a process with {THREADS} threads, {rounds} times 2 s", head, rows)
    more = statistics.median(longest["sonde attach"]) - statistics.median(longest["nothing"])
    section.goals(
        [verdict("sonde attach, over what the machine does itself", more, STALL_GOAL_MS, "ms")]
    )


def report(
    section: Section,
    envs: list[Environment],
    main: Environment,
    py_spy: list[str] | None,
    quick: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        times(section, envs, 3 if quick else 10, Path(folder))
        stalls(section, main, py_spy, 2 if quick else 5, Path(folder))
