"""`sonde top`: what a process does now, in the terminal."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.cli.shared.recording_options import Rate, What
from sonde.cli.shared.selection_options import PidOption, RunningPid, length_of, pid_of
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from sonde.top.watched import Watched

WINDOW_S = 15.0
ONCE_S = 2.0
MAX_INTERVAL_S = 120.0
SECOND = 1_000_000_000


def top(
    pid: RunningPid = None,
    given: PidOption = None,
    rate: Rate = 100,
    what: What = "cpu,locks",
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Show the last TIME, such as 5s [default: 15s, with --once 2s]"
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print one snapshot as text, and exit.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one snapshot as JSON, and exit.")
    ] = False,
) -> None:
    """Show functions, threads, the GIL, locks and tasks of a process, live in the terminal.

    sonde attaches to the process as `sonde attach` does, and detaches when you press q. If the
    process is being recorded, sonde reads that recording instead.

    \b
    Example:
      sonde top 4711
      sonde top 4711 --once
    """
    from sonde.record.recorder.options.options import check_rate, parse_what

    number = pid_of(pid, given)
    length = length_of("--window", window)
    if length is not None and not 1 <= length <= MAX_INTERVAL_S:
        raise UsageError(f"invalid --window {window!r}; give 1 to {MAX_INTERVAL_S:g} seconds")
    kinds, checked = parse_what(what), check_rate(rate)
    once = once or as_json
    if not os.path.exists(f"/proc/{number}"):
        raise SondeError(f"no process {number}")
    if not once and not all(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)):
        raise SondeError("sonde top needs a terminal; use --once for a snapshot as text, or --json")
    from sonde.top.watched import Watched

    watched = Watched(number, kinds, checked)
    try:
        if once:
            _print(watched, length or ONCE_S, as_json)
        else:
            from sonde.top.app import Top

            app = Top(watched, length or WINDOW_S)
            app.run()
            watched = app.watched
            if app.return_code:
                raise SystemExit(app.return_code)
    finally:
        watched.close()


def _print(watched: Watched, window_s: float, as_json: bool) -> None:
    """One snapshot: of an existing recording at once, else after a while."""
    from sonde.top.states import threads_now
    from sonde.top.tasks import TaskWatch

    window_ns = round(window_s * SECOND)
    watched.poll()
    # A recording that somebody has just started has nothing to show yet.
    enough_ns = window_ns if watched.own else min(window_ns, SECOND // 2)
    while watched.end_ns < enough_ns and not watched.ended:
        if watched.asked_to_end:
            raise KeyboardInterrupt
        time.sleep(0.05)
        watched.poll()
    seen = watched.look(window_ns, process=watched.pid)
    now = threads_now(seen)
    watch = TaskWatch(watched.pid)
    watch.look({row.tid: row.name for row in now})
    if as_json:
        result = seen.to_json() | watch.seen.now.to_json() | {"ended": watched.ended or None}
        doing = {(row.process, row.tid): row for row in now}
        rows = result["threads"]["rows"]
        known = {(row["process"], row["tid"]) for row in rows}
        for row in rows:
            thread = doing.get((row["process"], row["tid"]))
            row["state"] = thread.state if thread else "ended"
        result["threads"]["idle"] = [
            {"process": t.process, "tid": t.tid, "name": t.name, "state": t.state}
            for t in now
            if (t.process, t.tid) not in known
        ]
        print(json.dumps(result, separators=(",", ":")))
        return
    from sonde.record.system.procfs import words_of
    from sonde.record.targets.process import program_of
    from sonde.reports.layout.page import console
    from sonde.reports.live.process import render
    from sonde.reports.live.tasks import render as render_tasks

    program = program_of(words_of(watched.pid))
    span = f"{seen.span_ns / SECOND:.1f} s"
    title = f"{watched.pid} {program}, the last {span}"
    out = console()
    render(seen, now, out, title=title + (f"; {watched.ended}" if watched.ended else ""))
    render_tasks(watch.seen, out)
    sys.stdout.flush()
