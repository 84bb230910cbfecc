"""`sonde diff`: two recordings compared."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from sonde.cli._progress import working
from sonde.cli._select import (
    End,
    Running,
    Start,
    Thread,
    Waiting,
    Wall,
    selection_of,
    time_of,
    whole,
)


def diff(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The recording to compare with.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The recording that is compared.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show only the N greatest changes.")
    ] = None,
    thread: Thread = None,
    start: Start = None,
    end: End = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
) -> None:
    """Show what became slower and what faster from one recording to another.

    Also how alike the two are: how far their calling contexts overlap, and whether the hot ones of
    either are hot in the other.

    \b
    Examples:
      sonde diff before.sonde after.sonde
      sonde diff before.sonde after.sonde --wall --top 10
      sonde diff before.sonde after.sonde --json
    """
    rows = whole("--top", top, "a number of rows")
    selection = selection_of(time_of(running, waiting, wall), thread, None, start, end)

    from sonde.views.chained import open_recording
    from sonde.views.diff import diff as compared

    with working(f"reading {base} and {new}"):
        recordings = [open_recording(file) for file in (base, new)]
        result = compared(recordings[0], recordings[1], selection, top=rows)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports.diff import render
    from sonde.reports.page import console

    for recording in recordings:
        for warning in recording.warnings:
            print(f"sonde: {recording.path}: {warning}", file=sys.stderr)
    render(result, console(), time=selection.time, top=rows)
