"""What watching costs: the processor time of `sonde top` and its recorder, beside `py-spy top`.

Each runs in a terminal of 80 by 24 that is read as fast as it writes. What the agent costs the
target itself is part of the overhead tables.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

QUIET_GOAL = 1.0
START_S = 30.0
SETTLE_S = 3.0
A_SCREEN = 2000
"""Bytes: half of one of 80 by 24 with its attributes."""
PROGRAMS = {
    "quiet: one thread that reads, one that sleeps": """
import os, sys, threading, time
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
print(os.getpid(), flush=True)
sys.stdin.read()
""",
    "busy: four threads that compute": """
import os, sys, threading
def work():
    while True:
        sorted(str(number) for number in range(1000))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
print(os.getpid(), flush=True)
sys.stdin.read()
""",
}


@dataclass
class Cost:
    """Of one core, in percent."""

    itself: float
    recorder: float

    @property
    def together(self) -> float:
        return self.itself + self.recorder


@contextmanager
def program(env: Environment, text: str) -> Iterator[int]:
    process = subprocess.Popen(
        [env.python, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def watched(command: list[str], seconds: float) -> Cost:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(its)
    screen = Screen(ours)
    screen.wait_for_picture()
    time.sleep(SETTLE_S)
    if process.poll() is not None:
        raise RuntimeError(f"{command[0]} ended with code {process.returncode}")
    others = _children(process.pid)
    before, began = [_cpu_ns(pid) for pid in (process.pid, *others)], time.monotonic()
    time.sleep(seconds)
    after, took = [_cpu_ns(pid) for pid in (process.pid, *others)], time.monotonic() - began
    used = [(b - a) / took / 1e7 for a, b in zip(before, after, strict=True)]
    os.write(ours, b"q" if "sonde" in command else b"\x03")
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    os.close(ours)
    return Cost(used[0], sum(used[1:]))


class Screen:
    """Reads what is written to a terminal, and knows when there is a picture on it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._full = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for_picture(self) -> None:
        """Start-up is not watching; on a busy machine it takes long."""
        self._full.wait(START_S)

    def _read(self) -> None:
        seen = 0
        try:
            while data := os.read(self._terminal, 1 << 16):
                seen += len(data)
                if seen > A_SCREEN:
                    self._full.set()
        except OSError:
            pass


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            found += map(int, f.read().split())
    return found


def _cpu_ns(pid: int) -> int:
    return time.clock_gettime_ns(~pid << 3 | 2)  # CPUCLOCK_SCHED, linux/posix-timers.h


def report(section: Section, env: Environment, py_spy: list[str] | None, quick: bool) -> None:
    seconds = 8.0 if quick else 30.0
    rows: list[list[str]] = []
    goals: list[str] = []
    for name, text in PROGRAMS.items():
        with program(env, text) as pid:
            say(f"top: {name}")
            cost = watched([sys.executable, "-m", "sonde", "top", str(pid)], seconds)
            rows.append([name, "`sonde top`", f"{cost.itself:.2f} %", f"{cost.recorder:.2f} %"])
            if name.startswith("quiet"):
                together = f"{cost.together:.2f} % of a core"
                goals.append(verdict("quiet target", cost.together, QUIET_GOAL, "%", together))
            if py_spy is not None:
                try:
                    cost = watched([*py_spy, "top", "--pid", str(pid)], seconds)
                    rows.append([name, "`py-spy top`", f"{cost.itself:.2f} %", "–"])
                except RuntimeError as error:
                    section.say(f"`py-spy top` does not run here: {error}")
    head = ["target", "watched by", "itself, of a core", "its recorder"]
    section.table(f"Watching for {seconds:.0f} s, 100 samples a second", head, rows)
    section.goals(goals)
