"""`sonde tprof`: where the processors of the whole machine are."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

from sonde.cli._select import seconds, whole
from sonde.errors import SondeError, UsageError

HIGHEST_RATE = 10_000


def tprof(
    for_: Annotated[
        str, typer.Option("--for", metavar="S", help="How long to look, in seconds.")
    ] = "5",
    rate: Annotated[
        str, typer.Option("--rate", metavar="HZ", help="Ticks a second, of each processor.")
    ] = "100",
    process: Annotated[
        str | None, typer.Option("--process", metavar="PID", help="Show only this process.")
    ] = None,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside",
            help="Put the agent into Python and Java programs meanwhile, to name their functions.",
        ),
    ] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Rows of each level.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show which processes, threads, modules and symbols the machine's processors were in.

    The kernel, machine code from executables and libraries, and what runtimes say of the code they
    make (perf maps, jitdumps). It needs root or CAP_PERFMON.

    \b
    Examples:
      sonde tprof
      sonde tprof --for 30 --rate 500 --json
      sonde tprof --inside --for 10
    """
    from sonde.record.system.tprof import profile
    from sonde.views.tprof import tprof as view

    length = seconds("--for", for_)
    if length is None or not 0 < length < 86_400:
        raise UsageError(f"--for takes a time in seconds, not {for_!r}")
    ticks_a_second = whole("--rate", rate, "ticks a second")
    assert ticks_a_second is not None
    if ticks_a_second > HIGHEST_RATE:
        raise UsageError(f"--rate goes up to {HIGHEST_RATE:,} ticks a second, not {rate}")
    pid = whole("--process", process, "a process id")
    rows = whole("--top", top, "a number of rows")
    if pid is not None and not os.path.exists(f"/proc/{pid}"):
        raise SondeError(f"there is no process {pid}")
    if inside:
        from sonde.cli._inside import profile_inside

        found = profile_inside(length, ticks_a_second, pid)
    else:
        found = profile(length, ticks_a_second)
    result = view(
        found.places,
        lost=found.lost,
        processors=found.processors,
        rate=found.rate,
        duration_ns=found.duration_ns,
        process=pid,
    )
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.page import console
    from sonde.reports.tprof import render

    render(result, console(), top=rows)
