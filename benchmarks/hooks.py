"""Runs one program in slices inside one process, with the hooks of locks in place or not.

    hooks.py '{"program": "counter", "conditions": ["off", "floor", "locks", "default"], ...}'

The hooks come with a session and go with it. A recorder of its own for each slice would take longer
than the slice, so one recorder serves them all: the agent introduces itself anew each time. The
sampler is switched off right after that where only the hooks are to count ("locks"). "floor" is the
empty timer, without hooks. Writes what worker.py writes, and how large the recording became.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import contended
import programs
from floor import EmptyTimer
from neighbours import Neighbours
from worker import WINDOW_S, calls_for, timed


class Hooks:
    """Sessions of one recorder, with or without samples."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        sys.path.insert(0, job["source"])
        from sonde.record import session, shm
        from sonde.record.handle import Options, RecorderHandle

        self._agent = session._load_agent()
        self._reason = shm.REASON_API
        self._pid = os.getpid()
        self.path = folder / "locks.sonde"
        self.quality: dict[str, Any] = {}
        what = ["cpu", "locks"]
        options = Options(str(self.path), "locks", sys.argv, self._pid, what, job["rate"])
        ours, sys.executable = sys.executable, job["recorder"]
        self._recorder = RecorderHandle(options)
        sys.executable = ours

    def on(self, samples: bool) -> None:
        path = os.fsencode(self._recorder.socket_path)
        code = self._agent.sonde_agent_start(path, self._reason)
        if code:
            sys.exit(f"the agent could not start: {os.strerror(code)}")
        if not samples:
            self._recorder.ask({"disarm": self._pid}, "disarmed")

    def off(self) -> None:
        self._recorder.ask({"disarm": self._pid}, "disarmed")
        self._agent.sonde_agent_stop()

    def end(self) -> None:
        self._recorder.say({"stop": True})
        self.quality = self._recorder.finished()["done"]


def _settle(work: Callable[[], object], seconds: float) -> None:
    """What is new to the recorder is told once, not in every slice.

    And threads that fight for the GIL fall into one of two manners, in which it stays on one core
    or goes to and fro; anything that starts beside them, such as a session, brings on the second
    for some tenths of a second.
    """
    end = time.monotonic() + seconds
    work()
    while time.monotonic() < end:
        work()


def run(job: dict[str, Any], scratch: Path) -> dict[str, Any]:
    name = job["program"]
    if name in contended.ALONE:
        work = contended.ALONE[name][0]()
    elif name in contended.PROGRAMS:
        work = contended.PROGRAMS[name]()
    else:
        work = programs.prepare(name)
    calls = calls_for(work, job["slice"])
    hooks, timer = Hooks(job, scratch), EmptyTimer(job["rate"])
    order = random.Random(job["seed"])
    names = list(job["conditions"])
    gc.collect()
    gc.freeze()
    slices: list[tuple[int, str, int, int]] = []
    others: list[float] = []
    neighbours = Neighbours()
    began = time.monotonic()
    turn = 0
    while turn < job["least"] or time.monotonic() - began < job["seconds"]:
        order.shuffle(names)
        for condition in names:
            if condition == "floor":
                timer.on()
            elif condition != "off":
                hooks.on(samples=condition == "default")
            _settle(work, job["settle"])
            slices.append((turn, condition, *timed(work, calls)))
            if condition == "floor":
                timer.off()
            elif condition != "off":
                hooks.off()
        turn += 1
        if neighbours.seconds() > WINDOW_S:
            others += [neighbours.share()] * (turn - len(others))
    others += [neighbours.share()] * (turn - len(others))
    hooks.end()
    size = hooks.path.stat().st_size
    return {
        "slices": slices, "others": others, "calls": calls, "quality": hooks.quality, "bytes": size,
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(json.loads(sys.argv[1]), Path(folder))))
