"""`sonde cpus`: what the processors of this machine do, while they do it."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Annotated

import typer

from sonde.cli.shared.live_options import Every, For, ticks


def cpus(
    every: Every = "1",
    for_: For = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per table.")
    ] = False,
) -> None:
    """Show how busy each CPU is, with interrupt time and steal time.

    \b
    Examples:
      sonde cpus
      sonde cpus --every 0.5 --for 5 --json
    """
    from sonde.record.system import cpu_times as machine
    from sonde.reports.layout.page import console
    from sonde.reports.live.cpus import render

    waits = ticks(every, for_)
    out = console()
    before = machine.read()
    with contextlib.suppress(KeyboardInterrupt):
        for passed in waits:
            now = machine.read()
            found = machine.steps(before, now)
            before = now
            if as_json:
                rows = [row.to_json() for row in found]
                print(json.dumps({"seconds": round(passed, 6), "rows": rows}))
            else:
                render(found, out)
            sys.stdout.flush()
