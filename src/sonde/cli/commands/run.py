"""`sonde run`: run a command and record it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sonde.cli.shared.closing_message import closing_message
from sonde.cli.shared.recording_options import RecordingOptions, recording_options
from sonde.cli.shared.sampler_options import check_sampler, check_stacks
from sonde.errors import UsageError

SETTINGS = {"allow_interspersed_args": False, "ignore_unknown_options": True}


@recording_options()
def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[--] SCRIPT.py|-m MODULE|COMMAND [ARGS]...", show_default=False),
    ] = None,
    *,
    options: RecordingOptions,
) -> None:
    """Run a program and record it.

    A SCRIPT.py or -m MODULE runs under the Python that sonde runs on; a COMMAND runs unchanged.
    Output, exit code and POSIX signals are the program's own; sonde writes its messages to stderr.

    \b
    Example:
      sonde run app.py --port 8000
      sonde run -o slow.sonde --what +waits -- python3.13 -m mypackage
      sonde run --what calls app.py
    """
    from sonde.record.launch import Launch, end_like, program_name
    from sonde.record.recorder.options.options import Options

    arguments = list(command or [])
    if arguments and arguments[0] == "--":
        del arguments[0]
    if not arguments or arguments == ["-m"]:
        raise UsageError("nothing to run; give a SCRIPT.py, -m MODULE or a COMMAND")
    if arguments[0].startswith("-") and arguments[0] != "-m":
        raise UsageError(f"no such option: {arguments[0]}; see sonde run --help")
    mode, budget = options.storage()
    what, rate, calls = options.capture()
    program = program_name(arguments)

    def make_options(pid: int) -> Options:
        return Options(
            path=options.output or f"sonde-{program}-{pid}.sonde",
            program=program,
            argv=arguments,
            pid=pid,
            what=what,
            rate=rate,
            sampler=check_sampler(options.sampler),
            stacks=check_stacks(options.stacks),
            children=not options.no_children,
            mode=mode,
            budget=budget,
            calls=calls,
        )

    status, done, trouble = Launch(arguments, make_options).wait()
    if trouble is not None:
        print(f"sonde: {trouble}", file=sys.stderr)
    elif done is not None:
        print(f"sonde: {closing_message(done)}", file=sys.stderr)
    end_like(status)
