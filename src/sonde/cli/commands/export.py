"""`sonde export`: a recording in the format of another tool."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.shared import object_options
from sonde.cli.shared.newest_recording import newest, stem
from sonde.cli.shared.output_files import STDOUT, not_over, opened, opened_folder
from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import (
    Async,
    NewestFile,
    Process,
    Running,
    SkipStartUp,
    Span,
    Start,
    Task,
    Thread,
    Waiting,
    Wall,
    check_start,
    logical_stacks,
    selection_of,
    time_of,
)
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


def export(
    file: NewestFile = None,
    *,
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            "-f",
            "--format",
            metavar="FORMAT",
            help="Write FORMAT: collapsed, speedscope, pprof, callgrind, firefox, perfetto, otlp "
            "or parquet; several with commas, or by repeating the option.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Write to OUT, - for stdout; several formats into the directory OUT [default: a "
            "file in the working directory named after FILE]",
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
    task: Task = None,
    logical: Async = False,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="allocated|alive",
            help="Export bytes of sampled objects instead of time: of those allocated, or of those "
            "alive at --until.",
        ),
    ] = None,
) -> None:
    """Write a recording in the format of another tool.

    \b
    Examples:
      sonde export --to speedscope
      sonde export app.sonde --to speedscope
      sonde export app.sonde --to collapsed -o - | flamegraph.pl > app.svg
      sonde export app.sonde --to callgrind
      sonde export app.sonde --to firefox --wall -o app.json.gz
      sonde export app.sonde --to pprof --memory alive
      sonde export app.sonde --to parquet -o app-tables/
      sonde export app.sonde -f collapsed,speedscope,pprof -o exported/
    """
    time = time_of(running, waiting, wall)
    selection = selection_of(
        time, thread, process, start, until, span=span, end_option="--until", task=task
    )
    check_start(start, skip_startup)
    if memory is not None:
        selection = object_options.selection_with_memory(selection, memory, time)
    outputs = _outputs(to, output)
    for out in outputs:
        if memory is not None and not getattr(out.module, "MEMORY", False):
            name = out.module.__name__.rpartition(".")[2]
            raise UsageError(f"{name} has no unit for bytes; leave out --memory")
        if logical and not getattr(out.module, "LOGICAL", False):
            raise UsageError("--async applies to collapsed, speedscope and pprof")
    if logical and memory is not None:
        raise UsageError("--async and --memory cannot be combined; give one of them")
    if any(out.in_folder for out in outputs) and (selection.narrowed or skip_startup or time):
        raise UsageError(
            "parquet exports the whole recording; leave out the options that select a part of it"
        )
    file = file or newest()
    outputs = [out.named_after(file) for out in outputs]
    for out in outputs:
        not_over(file, out.path or "", "-o")

    from sonde.views.stacks.chained_samples import open_recording

    with working(f"reading {file}"):
        recording = open_recording(file)
        if skip_startup:
            from sonde.views.selecting.start_up import after_start_up

            selection = after_start_up(recording, selection)
        if memory is not None:
            recording = object_options.counted(recording, selection)
        if logical:
            recording = logical_stacks(recording)
    for warning in recording.warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    for out in outputs:
        _write(recording, selection, out)


@dataclass(frozen=True)
class Output:
    """One format, and where it goes."""

    module: Any
    path: str | None
    """None: named after the recording, in `folder`."""
    folder: str = ""

    @property
    def in_folder(self) -> bool:
        return getattr(self.module, "FOLDER", False)

    def named_after(self, recording: str) -> Output:
        name = stem(recording) + self.module.SUFFIX
        return replace(self, path=self.path or os.path.join(self.folder, name))


def _outputs(formats: list[str], output: str | None) -> list[Output]:
    """What is to be written; a usage error if that cannot be."""
    from sonde.exports import format_named

    names = [name.strip() for part in formats for name in part.split(",") if name.strip()]
    if not names:
        raise UsageError("no format given; give one with -f FORMAT")
    modules: dict[str, Any] = {name: format_named(name) for name in names}
    if len(modules) > 1:
        if output == STDOUT:
            raise UsageError("stdout takes one format; give a directory for several with -o OUT")
        if output is not None and os.path.exists(output) and not os.path.isdir(output):
            raise UsageError(f"{output} is no directory; several formats need one as -o OUT")
        return [Output(module, None, output or "") for module in modules.values()]
    ((name, module),) = modules.items()
    if output == STDOUT and getattr(module, "FOLDER", False):
        raise UsageError(f"{name} writes a folder; give its name with -o OUT")
    if output == STDOUT and not module.TEXT and sys.stdout.isatty():
        raise UsageError(
            f"{name} is a binary format and stdout is a terminal; give a file with -o OUT"
        )
    return [Output(module, output)]


def _write(recording: Recording, selection: Selection, out: Output) -> None:
    assert out.path is not None
    if out.folder:
        os.makedirs(out.folder, exist_ok=True)
    if out.in_folder:
        with working(f"writing {out.path}"), opened_folder(out.path) as folder:
            out.module.write_folder(recording, folder)
    else:
        with working(f"writing {out.path}"), opened(out.path) as stream:
            out.module.write(recording, selection, stream)
    if out.path != STDOUT:
        print(f"sonde: wrote {out.path}", file=sys.stderr)
