"""`sonde run`: run a command and record it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sonde.cli.shared.closing_message import closing_message
from sonde.cli.shared.recording_options import (
    Budget,
    DumpEvery,
    DumpWhen,
    Keep,
    Limit,
    Memory,
    ModeName,
    Output,
    Rate,
    Rotate,
    Sampler,
    Samples,
    Seconds,
    Stacks,
    Stride,
    Ticks,
    What,
)
from sonde.cli.shared.sampler_options import check_sampler, check_stacks
from sonde.cli.shared.selection_options import seconds, whole
from sonde.errors import UsageError

SETTINGS = {"allow_interspersed_args": False, "ignore_unknown_options": True}


def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[--] SCRIPT.py|-m MODULE|COMMAND [ARGS]...", show_default=False),
    ] = None,
    output: Output = None,
    rate: Rate = 1000,
    what: What = "cpu,locks",
    sampler: Sampler = "auto",
    stacks: Stacks = "whole",
    mode: ModeName = "normal",
    limit: Limit = None,
    rotate: Rotate = None,
    keep: Keep = None,
    seconds_kept: Seconds = None,
    memory: Memory = None,
    dump_when: DumpWhen = None,
    dump_every: DumpEvery = None,
    budget: Budget = None,
    ticks: Ticks = None,
    stride: Stride = None,
    samples: Samples = None,
    no_children: Annotated[
        bool, typer.Option("--no-children", help="Do not record processes that the target starts.")
    ] = False,
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
    from sonde.record.recorder.modes import parse_mode
    from sonde.record.recorder.options import Options, check_calls, check_rate, parse_what
    from sonde.record.recorder.units import parse_share

    arguments = list(command or [])
    if arguments and arguments[0] == "--":
        del arguments[0]
    if not arguments or arguments == ["-m"]:
        raise UsageError("nothing to run; give a SCRIPT.py, -m MODULE or a COMMAND")
    if arguments[0].startswith("-") and arguments[0] != "-m":
        raise UsageError(f"no such option: {arguments[0]}; see sonde run --help")
    share = None if budget is None else parse_share("--budget", budget)
    kept = parse_mode(
        mode,
        limit=limit,
        rotate=rotate,
        keep=whole("--keep", keep, "a number of files"),
        seconds=seconds("--seconds", seconds_kept),
        memory=memory,
        dump_when=dump_when,
        dump_every=seconds("--dump-every", dump_every),
    )
    kinds = parse_what(what)
    checked, calls = check_calls(kinds, check_rate(rate), stride, samples, ticks)
    program = program_name(arguments)

    def options(pid: int) -> Options:
        return Options(
            path=output or f"sonde-{program}-{pid}.sonde",
            program=program,
            argv=arguments,
            pid=pid,
            what=kinds,
            rate=checked,
            sampler=check_sampler(sampler),
            stacks=check_stacks(stacks),
            children=not no_children,
            mode=kept,
            budget=share,
            calls=calls,
        )

    status, done, trouble = Launch(arguments, options).wait()
    if trouble is not None:
        print(f"sonde: {trouble}", file=sys.stderr)
    elif done is not None:
        print(f"sonde: {closing_message(done)}", file=sys.stderr)
    end_like(status)
