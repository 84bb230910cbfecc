"""`sonde diff`: two recordings compared."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from sonde.cli.shared.growth_gate import compare_flow, compare_runs, limit_of
from sonde.cli.shared.newest_recording import newest, newest_two
from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import (
    End,
    Running,
    SkipStartUp,
    Start,
    Thread,
    Waiting,
    Wall,
    check_start,
    selection_of,
    time_of,
    whole,
)
from sonde.errors import UsageError


def diff(
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="[BASE]",
            help="The baseline [default: the second newest recording of the working directory]",
            show_default=False,
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="[NEW]",
            help="The recording to compare [default: the newest of the working directory]",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the N greatest changes.")
    ] = None,
    thread: Thread = None,
    start: Start = None,
    skip_startup: SkipStartUp = False,
    end: End = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
    calls: Annotated[
        bool, typer.Option("--calls", help="Compare call counts instead of time.")
    ] = False,
    objects: Annotated[
        bool,
        typer.Option("--objects", help="Compare sampled objects in bytes instead of time."),
    ] = False,
    flow: Annotated[
        bool,
        typer.Option("--flow", help="Compare the call flow: calls and what each function took."),
    ] = False,
    fail_over: Annotated[
        str | None,
        typer.Option(
            "--fail-over",
            metavar="PERCENT",
            help="Exit with code 3 if the share of on-CPU time of a function grew significantly, "
            "and by more than PERCENT points. With --flow: if what a function took grew by more "
            "than PERCENT.",
        ),
    ] = None,
) -> None:
    """Show which functions became slower or faster between two recordings.

    Also shows how similar the two are: the overlap of their calling contexts, how many hot contexts
    of one are hot in the other, and the correlation of their weights.

    With --fail-over BASE and NEW may each be several recordings of one program: a folder, or a
    quoted glob pattern.

    \b
    Examples:
      sonde diff
      sonde diff before.sonde after.sonde
      sonde diff before.sonde after.sonde --wall --top 10
      sonde diff before.sonde after.sonde --calls
      sonde diff before.sonde after.sonde --objects
      sonde diff before.sonde after.sonde --flow --fail-over 5%
      sonde diff before.sonde after.sonde --json
      sonde diff 'before-*.sonde' 'after-*.sonde' --fail-over 5%
    """
    rows = whole("--top", top, "a number of rows")
    if calls and (running or waiting or wall):
        raise UsageError("--calls compares call counts; leave out --running, --waiting and --wall")
    if objects and (running or waiting or wall or calls):
        raise UsageError(
            "--objects compares bytes; leave out --running, --waiting, --wall and --calls"
        )
    if flow and (running or waiting or wall or calls or objects):
        raise UsageError(
            "--flow compares the call flow; leave out --running, --waiting, --wall, --calls and "
            "--objects"
        )
    if flow and (start is not None or end is not None or skip_startup):
        raise UsageError("--flow compares whole recordings; leave out --from, --to, --skip-startup")
    selection = selection_of(time_of(running, waiting, wall), thread, None, start, end)
    check_start(start, skip_startup)
    limit = 0.0
    if fail_over is not None and not flow:
        if waiting or wall or calls or objects:
            raise UsageError(
                "--fail-over compares on-CPU time; leave out --waiting, --wall, --calls and "
                "--objects"
            )
        limit = limit_of(fail_over)

    if base is None:
        base, new = newest_two()
    new = new or newest(besides=base)
    if flow:
        compare_flow(base, new, fail_over, selection, top=rows, as_json=as_json)
        return
    if fail_over is not None:
        compare_runs(
            base, new, limit, selection, skip_startup=skip_startup, top=rows, as_json=as_json
        )
        return

    from sonde.views.calls.call_diff import CallDiff, call_diff
    from sonde.views.objects.object_diff import ObjectDiff, object_diff
    from sonde.views.stacks.chained_samples import open_recording
    from sonde.views.stacks.diff import diff as time_diff

    with working(f"reading {base} and {new}"):
        recordings = [open_recording(file) for file in (base, new)]
        compared: Any = call_diff if calls else object_diff if objects else time_diff
        of_base = of_new = selection
        if skip_startup:
            from sonde.views.selecting.start_up import after_start_up

            of_base, of_new = (after_start_up(recording, selection) for recording in recordings)
        result = compared(recordings[0], recordings[1], of_base, of_new, top=rows)
    if as_json:
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    from sonde.reports import object_diff as of_objects
    from sonde.reports.calls import call_diff as of_calls
    from sonde.reports.layout.page import console
    from sonde.reports.stacks import diff as of_time

    for recording in recordings:
        for warning in recording.warnings:
            print(f"sonde: {warning}", file=sys.stderr)
    if isinstance(result, CallDiff):
        of_calls.render(result, console(), top=rows)
    elif isinstance(result, ObjectDiff):
        of_objects.render(result, console(), top=rows)
    else:
        of_time.render(result, console(), time=selection.time, top=rows)
