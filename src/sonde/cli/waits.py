"""`sonde waits`: who waits for whom in a running process, at this moment."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.cli._select import process_id
from sonde.errors import SondeError

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


# Long enough for a thread that waits for the GIL to say so (native/cpython/locks/gil_hooks.c).
LOOK_S = 0.3


def waits(
    pid: Annotated[str, typer.Argument(metavar="PID", help="A running CPython or Java process.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show who waits for whom in a process at this moment: chains of both sides, and deadlocks.

    A process that is being recorded is asked through its recording; any other is entered for a
    moment, as by `sonde attach`. Who holds a lock is looked up in the stacks of all threads, so a
    deadlock is named even though nobody ever lets go.

    \b
    Example:
      sonde waits 4711
    """
    number = process_id(pid)
    from sonde.record.targets import session_registry

    session = session_registry.find(number)
    if session is not None and "locks" not in session.what:
        raise SondeError(
            f"process {pid} is recorded without locks; start it with --what cpu,locks to see waits"
        )
    if session is not None and not session.path:
        raise SondeError(
            f"process {pid} is recorded in mode wrap, into memory; end that recording to look at it"
        )
    from sonde.recording.reader import read
    from sonde.views.locks.wait_graph import waits as waits_at
    from sonde.views.selecting.selection import Selection

    recording = _look_at(number) if session is None else read(session.path)
    now = int(recording.target.get("duration_ns", 0))
    result = waits_at(recording, Selection(process=number), at_ns=now)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.page import console
    from sonde.reports.waits import render

    render(result, console())
    sys.stdout.flush()


def _look_at(pid: int) -> Recording:
    """A recording of a moment."""
    from sonde.record.attach import Attach
    from sonde.record.recorder.options import Options
    from sonde.record.targets.process import look_at
    from sonde.recording.reader import read

    process = look_at(pid)
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
                f"process {pid} tells nothing of its locks: {done['done']['why_not_better']}"
            )
        return read(options.path)
