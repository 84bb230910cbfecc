"""Recording a moment of each interpreter the way `sonde run` would: the proof that it works."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import SondeError
from sonde.record.recorder.options.options import Options
from sonde.record.recorder_process import RecorderHandle
from sonde.record.system import native_libraries

from .interpreters import Interpreter
from .java_homes import JavaHome

_TIMEOUT_S = 20

# Busy for 40 ms of CPU time: some forty samples, and nobody waits long for them.
_PROGRAM = "import time; start = time.thread_time()\nwhile time.thread_time() < start + 0.04: pass"

_LOAD_AGENT = "import ctypes, sys; ctypes.PyDLL(sys.argv[1])"

NOTHING_CAME = "its agent loads, but took no sample"


@dataclass(frozen=True)
class Trial:
    samples: int
    problem: str | None
    """Why there are none."""


def record(interpreters: list[Interpreter]) -> dict[str, Trial]:
    """A trial of each, by path. A SondeError if no recorder can be started at all."""
    preload = native_libraries.preload()
    commands = {i.path: [i.path, "-I", "-S", "-c", _PROGRAM] for i in interpreters}
    samples = _samples_of(commands, preload)
    return {i.path: _judge(i, preload, samples[i.path]) for i in interpreters}


def record_jvms(homes: list[JavaHome]) -> dict[str, Trial]:
    """The same for JVMs; printing their settings keeps them busy for some milliseconds."""
    preload = native_libraries.preload()
    commands = {home.path: [home.java, "-XshowSettings:all", "-version"] for home in homes}
    trials: dict[str, Trial] = {}
    for path, count in _samples_of(commands, preload).items():
        problem = None
        if not count:
            said = _complaint(commands[path], {"LD_PRELOAD": str(preload)}, only_failure=True)
            problem = f"it does not run: {said}" if said else NOTHING_CAME
        trials[path] = Trial(count, problem)
    return trials


def _samples_of(commands: dict[str, list[str]], preload: Path) -> dict[str, int]:
    """How many samples each command got, run one after the other into one recording."""
    with tempfile.TemporaryDirectory(prefix="sonde-doctor-") as folder:
        path = os.path.join(folder, "trial.sonde")
        recorder = RecorderHandle(Options(path, "doctor", ["sonde", "doctor"], os.getpid()))
        pids: dict[str, int] = {}
        try:
            for path_, command in commands.items():
                pids[path_] = _run(command, preload, recorder.socket_path)
        finally:
            recorder.send("stop", note="stopped")
            recorder.finished()
        samples = _samples_by_pid(path)
    return {path_: samples.get(pid, 0) for path_, pid in pids.items()}


def _run(command: list[str], preload: Path, socket_path: str) -> int:
    environment = dict(os.environ) | {"LD_PRELOAD": str(preload), "SONDE_SOCKET": socket_path}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        process.wait(_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.pid


def _samples_by_pid(path: str) -> dict[int, int]:
    from sonde.recording.reader import read

    recording = read(path)
    count: dict[int, int] = {}
    for thread in recording.samples.thread.tolist():
        process = recording.processes[int(recording.threads.process[thread])]
        count[process.pid] = count.get(process.pid, 0) + 1
    return count


def _judge(interpreter: Interpreter, preload: Path, samples: int) -> Trial:
    if samples:
        return Trial(samples, None)
    return Trial(0, _why_not(interpreter, preload))


def _why_not(interpreter: Interpreter, preload: Path) -> str:
    """Nothing was recorded: which of the steps into the interpreter fails?"""
    if said := _complaint([interpreter.path, "-I", "-S", "-c", ""], {"LD_PRELOAD": str(preload)}):
        return f"it cannot load sonde's preload library: {said}"
    with suppress(SondeError):
        agent = str(interpreter.agent())
        if said := _complaint([interpreter.path, "-I", "-S", "-c", _LOAD_AGENT, agent], {}):
            return f"it cannot load the agent: {said}"
    return NOTHING_CAME


def _complaint(command: list[str], more: dict[str, str], only_failure: bool = False) -> str:
    """The last line a command said on stderr, or how it died; empty if it did well."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(os.environ) | more,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it does not exit"
    if only_failure and not done.returncode:
        return ""
    lines = done.stderr.strip().splitlines()
    if not lines and done.returncode:
        return f"it exits with code {done.returncode}"
    return lines[-1].strip() if lines else ""
