"""`sonde threads`: what the threads of a running process use, while they use it."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Annotated

import typer

from sonde.cli.shared.live_options import Every, For, ticks
from sonde.cli.shared.selection_options import PidOption, pid_of


def threads(
    pid: Annotated[
        str | None, typer.Argument(metavar="[PID]", help="Any running process of yours.")
    ] = None,
    given: PidOption = None,
    every: Every = "1",
    for_: For = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per table.")
    ] = False,
) -> None:
    """Show the CPU time, run-queue latency and steal time of each thread of a process, live.

    sonde reads the kernel's counters and injects nothing, so this works for any program.

    \b
    Examples:
      sonde threads 4711
      sonde threads 4711 --every 0.5 --for 10 --json
    """
    number = pid_of(pid, given)
    from sonde.record.system.thread_usage import ThreadUsage
    from sonde.reports.layout.page import console
    from sonde.reports.live.threads import render

    waits = ticks(every, for_)
    process = ThreadUsage(number)
    out = console()
    with contextlib.suppress(KeyboardInterrupt):
        for passed in waits:
            rows = process.step()
            if as_json:
                found = [row.to_json() for row in rows]
                print(json.dumps({"seconds": round(passed, 6), "rows": found}))
            else:
                render(rows, passed, out)
            sys.stdout.flush()
            if process.gone:
                break
    process.close()
    if process.gone:
        print(f"sonde: process {number} has exited", file=sys.stderr)
