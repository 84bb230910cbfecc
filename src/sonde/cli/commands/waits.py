"""`sonde waits`: who waits for whom in a running process, at this moment."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.cli.shared.selection_options import PidOption, RunningPid, pid_of
from sonde.errors import SondeError

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


# Long enough for a thread that waits for the GIL to say so (native/cpython/locks/gil_hooks.c).
LOOK_S = 0.3


def waits(
    pid: RunningPid = None,
    given: PidOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show which thread or task waits for which, with their call stacks, and deadlocks.

    sonde attaches to the process for a moment, as `sonde attach` does; if the process is being
    recorded, sonde reads that recording instead. It finds lock holders in the stacks of all
    threads, so it also shows deadlocks in which no lock is ever released. It reads the tasks of
    asyncio and uvloop, and what they await, from the memory of the process.

    \b
    Example:
      sonde waits 4711
    """
    number = pid_of(pid, given)
    from sonde.record.targets import session_registry

    session = session_registry.find(number)
    if session is not None and "locks" not in session.what:
        raise SondeError(
            f"the recording of process {number} has no locks; start it with --what cpu,locks"
        )
    if session is not None and not session.path:
        raise SondeError(
            f"process {number} is being recorded in mode wrap, which has no file to read; end that "
            f"recording with: sonde ctl {number} stop"
        )
    from sonde.recording.reader import read
    from sonde.views.locks.wait_graph import waits as waits_at
    from sonde.views.selecting.selection import Selection

    recording = _inspect(number) if session is None else read(session.path)
    now = int(recording.target.get("duration_ns", 0))
    result = waits_at(recording, Selection(process=number), at_ns=now)
    from sonde.record.remote_tasks.snapshot import TaskReader

    tasks = TaskReader(number).read().named(_thread_names(recording, number))
    if as_json:
        print(json.dumps(result.to_json() | tasks.to_json(), separators=(",", ":")))
        return
    from sonde.reports.layout.page import console
    from sonde.reports.locks.tasks_now import render as render_tasks
    from sonde.reports.locks.waits import render

    out = console()
    render(result, out, now=True)
    render_tasks(tasks, out)
    sys.stdout.flush()


def _thread_names(recording: Recording, pid: int) -> dict[int, str]:
    threads = recording.threads
    names = dict(zip(threads.tid.tolist(), threads.name, strict=True))
    return {pid: "MainThread"} | {tid: name for tid, name in names.items() if name}


def _inspect(pid: int) -> Recording:
    """A recording of a moment."""
    from sonde.record.attach import Attach
    from sonde.record.recorder.options.options import Options
    from sonde.record.targets.process import inspect_process
    from sonde.recording.reader import read

    process = inspect_process(pid)
    with tempfile.TemporaryDirectory(prefix="sonde-waits-") as folder:
        options = Options(
            path=os.path.join(folder, "moment.sonde"),
            program=process.program,
            argv=process.argv,
            pid=process.pid,
            what=["locks"],
            rate=1,
            children=False,
            attached=True,
            place=process.place(),
        )
        done = Attach(process, options).wait(LOOK_S)
        if done["done"]["sampler"] == "remote":
            raise SondeError(
                f"cannot observe the locks of process {pid}: {done['done']['why_not_better']}"
            )
        return read(options.path)
