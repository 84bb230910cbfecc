"""`sonde tprof`: where the processors of the whole machine are."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Annotated

import typer

from sonde.cli.shared.output_files import check_new, check_writable
from sonde.cli.shared.recording_options import Force
from sonde.cli.shared.selection_options import length_of, whole
from sonde.errors import SondeError, UsageError

MAX_RATE = 10_000


def tprof(
    for_: Annotated[
        str,
        typer.Option(
            "--for", "-d", "--duration", metavar="TIME", help="Sample for TIME, such as 5 or 1m"
        ),
    ] = "5",
    rate: Annotated[
        str, typer.Option("-r", "--rate", metavar="HZ", help="Sample each CPU HZ times per second")
    ] = "100",
    process: Annotated[
        str | None,
        typer.Option("--process", "-p", "--pid", metavar="PID", help="Show only this process."),
    ] = None,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside",
            help="Attach to Python and Java processes, to name their functions.",
        ),
    ] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the top N rows of each level.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write a recording of all processes to FILE, and print no report.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Show which processes, threads, modules and symbols used this machine's CPUs.

    Covers the kernel, executables, libraries, and JIT-compiled code described by perf maps or
    jitdumps. Needs root or CAP_PERFMON.

    \b
    Examples:
      sonde tprof
      sonde tprof --for 30 --rate 500 --json
      sonde tprof --inside --for 10
      sonde tprof --for 60 -o machine.sonde
    """
    from sonde.record.system.tprof import profile
    from sonde.views.selecting.formatting import count
    from sonde.views.tprof import tprof as view

    if output is not None:
        for option, given in (("--top", top), ("--json", as_json or None)):
            if given is not None:
                raise UsageError(
                    f"{option} and -o cannot be combined; give {option} to: sonde report {output}"
                )
    length = length_of("--for", for_)
    assert length is not None
    if length >= 86_400:
        raise UsageError(f"invalid --for {for_!r}; give less than a day")
    ticks_a_second = whole("--rate", rate, "samples per second")
    assert ticks_a_second is not None
    if ticks_a_second > MAX_RATE:
        raise UsageError(f"invalid --rate {rate}; give at most {MAX_RATE:,} samples per second")
    pid = whole("--process", process, "a PID")
    rows = whole("--top", top, "a number of rows")
    if output is not None:
        check_new(output, force)
        check_writable(output)
    elif force:
        raise UsageError("--force needs -o FILE")
    if pid is not None and not os.path.exists(f"/proc/{pid}"):
        raise SondeError(f"no process {pid}")
    if inside:
        from sonde.cli.shared.agents_inside import profile_inside

        found = profile_inside(length, ticks_a_second, pid)
    else:
        found = profile(length, ticks_a_second)
    if output is not None:
        from sonde.record.machine_recording import write_machine_recording

        if pid is not None:
            found.places = [place for place in found.places if place.pid == pid]
        taken = write_machine_recording(output, found, sys.argv[1:])
        print(
            f"sonde: recorded {count(taken, 'sample')}; read it with: "
            f"sonde report {shlex.quote(output)} tprof",
            file=sys.stderr,
        )
        return
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
    from sonde.reports.layout.page import console
    from sonde.reports.live.tprof import render

    render(result, console(), top=rows)
