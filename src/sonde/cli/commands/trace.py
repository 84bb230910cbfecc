"""`sonde trace`: every instruction that a program executes for a while."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.cli.shared.closing_message import closing_message, recording_of
from sonde.cli.shared.live_line import LiveLine
from sonde.cli.shared.recording_options import Force, Output, RecordingOptions
from sonde.cli.shared.selection_options import length_of, process_id
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from sonde.record.recorder.options.options import Options, StepOptions

MIN_BUFFER = 1 << 20
MAX_BUFFER = 4 << 30
RATE = 100
"""Samples are beside the point, but a recording has some."""


def trace(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PID | [--] SCRIPT.py|-m MODULE|COMMAND [ARGS]...", show_default=False
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            "-d",
            "--duration",
            metavar="TIME",
            help="Trace for TIME, such as 100ms or 2 (seconds) [default: until the buffer is full]",
        ),
    ] = None,
    span: Annotated[
        str | None,
        typer.Option(
            "--span", metavar="NAME", help="Trace only what a thread does in spans of this name."
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option("--buffer", metavar="SIZE", help="Trace until SIZE is used [default: 64MiB]"),
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Trace every bytecode instruction of a CPython program for a while.

    The trace shows how many instructions ran between calls and returns, and counts by line,
    function and loop. It needs CPython 3.12 or newer. Put -- before a command that has options.

    \b
    Example:
      sonde trace 4711 --for 100ms
      sonde trace 4711 --span checkout --for 5
      sonde trace --span checkout app.py
      sonde trace -o slow.sonde -- python3.13 -m mypackage --fast
    """
    if not words:
        raise UsageError("nothing to trace; give a PID, a SCRIPT.py, -m MODULE or a COMMAND")
    RecordingOptions(output=output, force=force).check_output()
    seconds = length_of("--for", for_)
    pid = words[0] if len(words) == 1 and words[0].isdecimal() else None
    steps = _steps(span, seconds, buffer, pid is not None)
    if pid is None:
        if seconds is not None and span is not None:
            raise UsageError("--for and --span cannot be combined for a command; give one of them")
        _run(words, steps, output)
    else:
        _attach(pid, steps, output, seconds if span is not None else None)


def _steps(
    span: str | None, seconds: float | None, buffer: str | None, attached: bool
) -> StepOptions:
    from sonde.record.recorder.options.options import MAX_STEPS_NS, STEPS_ROOM, StepOptions
    from sonde.record.shm.probe_area import MAX_SPAN
    from sonde.units import parse_size

    room = STEPS_ROOM if buffer is None else parse_size("--buffer", buffer)
    if not MIN_BUFFER <= room <= MAX_BUFFER:
        raise UsageError(f"--buffer must be between 1MiB and 4GiB, not {buffer}")
    if span is not None and not 0 < len(span.encode()) <= MAX_SPAN:
        raise UsageError(f"--span must have 1 to {MAX_SPAN} bytes")
    return StepOptions(
        span=span or "",
        duration_ns=MAX_STEPS_NS if seconds is None or span else round(seconds * 1e9),
        room=room,
        alone=attached,
    )


def _options(path: str, program: str, argv: list[str], pid: int, steps: StepOptions) -> Options:
    from sonde.record.recorder.options.options import Options

    return Options(
        path=path, program=program, argv=argv, pid=pid, what=["cpu", "steps"], rate=RATE,
        children=False, steps=steps,
    )  # fmt: skip


def _run(words: list[str], steps: StepOptions, output: str | None) -> None:
    from sonde.record.launch import Launch, end_like, program_name

    program = program_name(words)
    named = RecordingOptions(output=output)
    launch = Launch(
        words, lambda pid: _options(named.path_for(program, pid), program, words, pid, steps)
    )
    status, done, trouble = launch.wait()
    if trouble is not None:
        print(f"sonde: {trouble}", file=sys.stderr)
    elif done is not None:
        print(f"sonde: {closing_message(done)}", file=sys.stderr)
        _say_trace(recording_of(done))
    end_like(status)


def _attach(pid: str, steps: StepOptions, output: str | None, seconds: float | None) -> None:
    from dataclasses import replace

    from sonde.record.attach import Attach
    from sonde.record.targets.process import inspect_process

    process = inspect_process(process_id(pid))
    path = RecordingOptions(output=output).path_for(process.program, process.pid)
    options = _options(path, process.program, process.argv, process.pid, steps)
    options = replace(options, attached=True, place=process.place())
    with LiveLine(lambda: session.recorder_pid, "press Ctrl-C to stop") as live:
        session = Attach(process, options, None)
        done = session.wait(seconds, live.say)
    if done.get("trouble"):
        raise SondeError(done["trouble"])
    print(f"sonde: {closing_message(done)}", file=sys.stderr)
    _say_trace(recording_of(done))


def _say_trace(recording: str | None) -> None:
    if recording is None:
        return
    from sonde.recording.reader import read

    why = next((text for text in read(recording).step_traces.trouble if text), None)
    if why is not None:
        print(f"sonde: there is no step trace: {why}", file=sys.stderr)
        return
    print(f"sonde: show the trace with: sonde report {recording} trace", file=sys.stderr)
