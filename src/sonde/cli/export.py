"""`sonde export`: a recording in the format of another tool."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sonde.cli._progress import working
from sonde.cli._select import (
    File,
    Process,
    Running,
    Start,
    Thread,
    Waiting,
    Wall,
    selection_of,
    time_of,
)
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDOUT = "-"


def export(
    file: File,
    to: Annotated[
        str,
        typer.Option("--to", metavar="FORMAT", help="collapsed, speedscope, pprof or firefox."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Where to write; - is stdout. If not given, a file in the working directory "
            "named after FILE.",
        ),
    ] = None,
    thread: Thread = None,
    process: Process = None,
    start: Start = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="S", help="Only until this second of the recording."),
    ] = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
) -> None:
    """Write a recording in the format of another tool.

    \b
    Examples:
      sonde export app.sonde --to speedscope
      sonde export app.sonde --to collapsed -o - | flamegraph.pl > app.svg
      sonde export app.sonde --to firefox --wall -o app.json.gz
    """
    from sonde.exports import format_named

    chosen = format_named(to)
    time = time_of(running, waiting, wall)
    selection = selection_of(time, thread, process, start, until, end_option="--until")
    out = output or Path(file).with_suffix("").name + chosen.SUFFIX
    if out == STDOUT and not chosen.TEXT and sys.stdout.isatty():
        raise UsageError(f"{to} is no text for a terminal; name a file with -o OUT")
    with suppress(OSError):
        if os.path.samefile(file, out):
            raise UsageError(f"{out} is the recording itself; name another file with -o OUT")

    from sonde.recording.reader import read

    with working(f"reading {file}"):
        recording = read(file)
    for warning in recording.warnings:
        print(f"sonde: {recording.path}: {warning}", file=sys.stderr)
    with working(f"writing {out}"), _opened(out) as stream:
        chosen.write(recording, selection, stream)
    if out != STDOUT:
        print(f"sonde: wrote {out}", file=sys.stderr)


@contextmanager
def _opened(out: str) -> Iterator[BinaryIO]:
    """The output; a file appears whole under its name or not at all."""
    if out == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(out)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        # A device or a pipe is written to, not replaced.
        with _said(out), path.open("wb") as stream:
            yield stream
        return
    with _said(out):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with _said(out):
            with os.fdopen(handle, "wb") as stream:
                yield stream
            # Made private by mkstemp; a file the user asked for gets the user's usual rights.
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _said(out: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SondeError(f"{out} cannot be written: {reason}") from error
