"""`sonde waits`: who waits for whom in a running process, at this moment."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from sonde.errors import SondeError, UsageError


def waits(
    pid: Annotated[str, typer.Argument(metavar="PID", help="A process that is being recorded.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show who waits for whom in a process at this moment: chains of both sides, and deadlocks.

    The process must be one that sonde records with locks (`sonde run --what cpu,locks …`). A thread
    that has waited for more than a second looks who holds the lock, so a deadlock is named even
    though nobody ever lets go.

    \b
    Example:
      sonde run -o app.sonde app.py &
      sonde waits 4711
    """
    if not pid.isdecimal():
        raise UsageError(f"{pid!r} is no process id; it is a number, as ps shows it")
    from sonde.record import sessions

    session = sessions.find(int(pid))
    if session is None:
        raise SondeError(_why_not(int(pid)))
    if "locks" not in session.what:
        raise SondeError(
            f"process {pid} is recorded without locks; start it with --what cpu,locks to see waits"
        )
    from sonde.recording.reader import read
    from sonde.views.selection import Selection
    from sonde.views.waits import waits as waits_at

    recording = read(session.path)
    now = int(recording.target.get("duration_ns", 0))
    result = waits_at(recording, Selection(process=int(pid)), at_ns=now)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.page import console
    from sonde.reports.waits import render

    render(result, console())
    sys.stdout.flush()


def _why_not(pid: int) -> str:
    if not os.path.exists(f"/proc/{pid}"):
        return f"there is no process {pid}"
    return (
        f"process {pid} is not being recorded, or by another user; "
        f"record it with: sonde attach {pid}"
    )
