"""Runs one program in slices inside one process, with the hooks of locks in place or not.

    hooks.py '{"program": "counter", "conditions": ["off", "floor", "locks", "default"], ...}'

The hooks come with a session and go with it. A recorder of its own for each slice would take longer
than the slice, so one serves all slices of a condition: the agent introduces itself anew each time.

- "hooks": they are in place, and nothing is recorded: for programs that never wait;
- "session": the same without them;
- "locks": every wait is recorded, without a timer. (A sampler there must be: one that reads the
  stacks from a thread of its own once a second.)
- "default": locks, and samples at the rate;
- "floor": the empty timer, without hooks.

Writes what worker.py writes, and what the recording of all waits became.
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

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness.floor import EmptyTimer
from harness.turns import Off, Switch, in_turns
from harness.worker import calls_for, timed
from workloads import contended, programs


class Hooks:
    """Sessions of one recorder."""

    def __init__(self, job: dict[str, Any], folder: Path, condition: str) -> None:
        sys.path.insert(0, job["source"])
        from sonde.record import session
        from sonde.record.recorder.options.options import Options
        from sonde.record.recorder_process import RecorderHandle
        from sonde.record.shm import layout as shm

        self._agent = session._load_agent()
        self._reason = shm.REASON_API
        self._pid = os.getpid()
        self.path = folder / f"{condition}.sonde"
        self.quality: dict[str, Any] = {}
        self.condition = condition
        rate, sampler = (1, "reader") if condition == "locks" else (job["rate"], "auto")
        what = ["cpu"] if condition == "session" else ["cpu", "locks"]
        options = Options(
            str(self.path), condition, sys.argv, self._pid, what, rate, sampler=sampler
        )
        ours, sys.executable = sys.executable, job["recorder"]
        self._recorder = RecorderHandle(options)
        sys.executable = ours

    def on(self) -> None:
        path = os.fsencode(self._recorder.socket_path)
        code = self._agent.sonde_agent_start(path, self._reason)
        if code:
            sys.exit(f"the agent could not start: {os.strerror(code)}")
        if self.condition in ("hooks", "session"):
            self._recorder.ask("disarm", pid=self._pid)

    def off(self) -> None:
        self._recorder.ask("disarm", pid=self._pid)
        self._agent.sonde_agent_stop()

    def end(self) -> None:
        self._recorder.send("stop", note="stopped")
        self.quality = self._recorder.finished()["done"]
        self.quality["bytes"] = self.path.stat().st_size


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


def _switch_for(condition: str, job: dict[str, Any], scratch: Path) -> Switch:
    if condition == "off":
        return Off()
    if condition == "floor":
        return EmptyTimer(job["rate"])
    return Hooks(job, scratch, condition)


def run(job: dict[str, Any], scratch: Path) -> dict[str, Any]:
    name = job["program"]
    if name in contended.ALONE:
        work = contended.ALONE[name][0]()
    elif name in contended.PROGRAMS:
        work = contended.PROGRAMS[name]()
    else:
        work = programs.prepare(name)
    calls = calls_for(work, job["slice"])
    switches: dict[str, Switch] = {
        condition: _switch_for(condition, job, scratch) for condition in job["conditions"]
    }
    gc.collect()
    gc.freeze()
    answer = in_turns(
        switches,
        lambda: _settle(work, job["settle"]),
        lambda: timed(work, calls),
        random.Random(job["seed"]),
        job["least"],
        job["seconds"],
    )
    if job["settle"]:
        del answer["pace"]  # of rounds that take seconds their beginning and end tell little
    quality: dict[str, Any] = {}
    for hooks in switches.values():
        if isinstance(hooks, Hooks):
            hooks.end()
            if hooks.condition == "locks":
                quality = hooks.quality
                if not quality["lock_events"] > len(answer["others"]):
                    sys.exit(f"{name}: no waits were recorded")
    return {**answer, "calls": calls, "quality": quality}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(json.loads(sys.argv[1]), Path(folder))))
