"""`sonde export`: a recording in the format of another tool."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from sonde.cli.shared.newest_recording import newest, stem
from sonde.cli.shared.output_files import STDOUT, not_over, opened, opened_folder
from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import (
    NewestFile,
    Process,
    Running,
    SkipStartUp,
    Span,
    Start,
    Thread,
    Waiting,
    Wall,
    check_start,
    selection_of,
    time_of,
)
from sonde.errors import UsageError


def export(
    file: NewestFile = None,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            "-f",
            "--format",
            metavar="FORMAT",
            help="Write FORMAT: collapsed, speedscope, pprof, firefox, perfetto, otlp or parquet.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Write to OUT, - for stdout [default: a file in the working directory named after "
            "FILE]",
        ),
    ] = None,
    thread: Thread = None,
    process: Process = None,
    start: Start = None,
    skip_startup: SkipStartUp = False,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="End at this time of the recording: 2.5, 200ms, 10m.",
        ),
    ] = None,
    span: Span = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
) -> None:
    """Write a recording in the format of another tool.

    \b
    Examples:
      sonde export --to speedscope
      sonde export app.sonde --to speedscope
      sonde export app.sonde --to collapsed -o - | flamegraph.pl > app.svg
      sonde export app.sonde --to firefox --wall -o app.json.gz
      sonde export app.sonde --to parquet -o app-tables/
    """
    from sonde.exports import format_named

    chosen: Any = format_named(to)
    time = time_of(running, waiting, wall)
    selection = selection_of(time, thread, process, start, until, span=span, end_option="--until")
    check_start(start, skip_startup)
    file = file or newest()
    out = output or stem(file) + chosen.SUFFIX
    if out == STDOUT and not chosen.TEXT and sys.stdout.isatty():
        raise UsageError(
            f"{to} is a binary format and stdout is a terminal; give a file with -o OUT"
        )
    not_over(file, out, "-o")

    in_folder = getattr(chosen, "FOLDER", False)
    if in_folder and (selection.narrowed or skip_startup or time is not None):
        raise UsageError(
            f"{to} exports the whole recording; leave out the options that select a part of it"
        )
    if in_folder and out == STDOUT:
        raise UsageError(f"{to} writes a folder; give its name with -o OUT")

    from sonde.views.stacks.chained_samples import open_recording

    with working(f"reading {file}"):
        recording = open_recording(file)
        if skip_startup:
            from sonde.views.selecting.start_up import after_start_up

            selection = after_start_up(recording, selection)
    for warning in recording.warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    if in_folder:
        with working(f"writing {out}"), opened_folder(out) as folder:
            chosen.write_folder(recording, folder)
    else:
        with working(f"writing {out}"), opened(out) as stream:
            chosen.write(recording, selection, stream)
    if out != STDOUT:
        print(f"sonde: wrote {out}", file=sys.stderr)
