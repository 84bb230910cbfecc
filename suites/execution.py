"""Runs one module in one mode, and goes on behind a case that crashed or took too long."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from suites import modes
from suites.outcomes import PROCESS, Outcome, Progress, read_log
from suites.subjects import DRIVERS, Prepared

POLL_S = 0.05
# A module that crashes again and again ends after so many cases.
MAX_RESTARTS = 10


@dataclass(frozen=True)
class Limits:
    case_s: float = 60
    module_s: float = 600


def run_module(
    prepared: Prepared,
    module: str,
    mode: str,
    limits: Limits,
    only: Collection[str] = (),
    logs: Path | None = None,
    recordings: modes.Recordings | None = None,
) -> dict[str, Outcome]:
    """The outcome of each case. Adds to `recordings` what sonde recorded."""
    recordings = recordings or modes.Recordings()
    outcomes: dict[str, Outcome] = {}
    end = time.monotonic() + limits.module_s
    for _ in range(MAX_RESTARTS):
        progress, ending, output = run_once(
            prepared, module, mode, limits, only, outcomes.keys(), end, recordings
        )
        if logs:
            logs.parent.mkdir(parents=True, exist_ok=True)
            with logs.open("a") as file:
                file.write(output)
        outcomes.update(progress.outcomes)
        if progress.finished:
            outcomes[PROCESS] = ending
            return outcomes
        if progress.started is None or ending.kind == "late":
            if ending.kind != "late":
                outcomes[PROCESS] = ending
            return outcomes
        outcomes[progress.started] = ending
        if only and set(only) <= outcomes.keys():
            return outcomes
    return outcomes


def run_once(
    prepared: Prepared,
    module: str,
    mode: str,
    limits: Limits,
    only: Collection[str],
    without: Collection[str],
    end: float,
    recordings: modes.Recordings,
) -> tuple[Progress, Outcome, str]:
    """What the log says, how the process ended, and what it printed."""
    # A short path: tests put sockets into it, and their names have at most 107 characters.
    scratch = Path(tempfile.mkdtemp(prefix="suite-"))
    # Apart from what the tests see: some of them count the files.
    own = Path(tempfile.mkdtemp(prefix="suites-"))
    try:
        log = own / "log"
        specification = {
            "module": module,
            "log": str(log),
            "cpython": prepared.cpython,
            "path": list(prepared.path),
            "folder": str(prepared.folder or scratch),
            "options": list(prepared.options),
            "files": list(prepared.files.get(module, ())),
            "only": sorted(only),
            "without": sorted(without),
            "never": list(prepared.without),
            "gate": str(own / "gate") if modes.is_attached(mode) else "",
        }
        (own / "specification.json").write_text(json.dumps(specification))
        words = [prepared.python, str(DRIVERS / prepared.driver), str(own / "specification.json")]
        with (own / "output").open("wb") as output:
            process = subprocess.Popen(
                modes.command(mode, words, own / "recording.sonde"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=modes.environment(scratch),
                start_new_session=True,
            )
            try:
                with modes.attaching(mode, process, own, recordings):
                    ending = watch(process, log, limits, end)
            finally:
                stop(process)
        if ending.kind in ("passed", "crash"):
            recordings.note_run(mode, own / "recording.sonde")
        progress = read_log(log)
        text = (own / "output").read_text(errors="replace")
        if ending.kind in ("crash", "timeout"):
            ending = Outcome(ending.kind, f"{ending.why}\n{text[-3000:]}")
        return progress, ending, f"== {mode} {module} {ending.kind} {ending.why}\n{text}\n"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(own, ignore_errors=True)


def watch(process: subprocess.Popen[bytes], log: Path, limits: Limits, end: float) -> Outcome:
    """Waits for the end of a process, and ends one whose current case takes too long."""
    size, since = -1, time.monotonic()
    while (code := process.poll()) is None:
        now = time.monotonic()
        current = log.stat().st_size if log.exists() else 0
        if current != size:
            size, since = current, now
        if now > end or now - since > limits.case_s:
            stop(process)
            return Outcome("late") if now > end else Outcome("timeout", f"{limits.case_s:g} s")
        time.sleep(POLL_S)
    if code == 0:
        return Outcome("passed")
    return Outcome("crash", f"ended by signal {-code}" if code < 0 else f"exit code {code}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the session that a run began: the process, and children that its tests left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
