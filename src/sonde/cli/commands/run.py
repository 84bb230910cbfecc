"""`sonde run`: run a command and record it."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from sonde.cli.shared.closing_message import closing_message, recording_of
from sonde.cli.shared.live_line import LiveLine
from sonde.cli.shared.recording_options import RecordingOptions, option_names, recording_options
from sonde.cli.shared.result_lines import print_result
from sonde.cli.shared.sampler_options import check_sampler, check_stacks
from sonde.errors import SondeError, UsageError, did_you_mean

SETTINGS = {"allow_interspersed_args": False, "ignore_unknown_options": True}


@recording_options()
def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[--] SCRIPT.py|-m MODULE|-c CODE|-|COMMAND [ARGS]...", show_default=False
        ),
    ] = None,
    *,
    options: RecordingOptions,
) -> None:
    """Run a program and record it.

    A SCRIPT.py, -m MODULE, -c CODE or - (a program from stdin) runs under the Python that sonde
    runs on; a COMMAND runs unchanged. Output, exit code and POSIX signals are the program's own;
    sonde writes its messages to stderr.

    \b
    Example:
      sonde run app.py --port 8000
      sonde run --open app.py
      sonde run -c 'import json; json.dumps(list(range(1_000_000)))'
      sonde run -o slow.sonde --what +waits -- python3.13 -m mypackage
      sonde run --what calls app.py
      sonde run --probe 'orders.py:120 len(batch)' app.py
      sonde run --what flow --flow-in orders app.py
    """
    from sonde.record.launch import WITH_VALUE, Launch, end_like, program_name
    from sonde.record.recorder.options.options import Options
    from sonde.record.system.procfs import descendants

    arguments = list(command or [])
    if arguments and arguments[0] == "--":
        del arguments[0]
    if not arguments or (arguments[0] in WITH_VALUE and len(arguments) == 1):
        raise UsageError("nothing to run; give a SCRIPT.py, -m MODULE, -c CODE or a COMMAND")
    if arguments[0].startswith("-") and arguments[0] not in (*WITH_VALUE, "-"):
        option = arguments[0]
        hint = did_you_mean(option, option_names())
        raise UsageError(f"no such option: {option}{hint}; see sonde run --help")
    mode, budget = options.storage()
    what, rate, calls = options.capture()
    probes = options.probes()
    flow = options.flow(what)
    lock_sampling = options.locks(what)
    program = program_name(arguments)
    check_follow_up(options)

    def make_options(pid: int) -> Options:
        return Options(
            path=options.path_for(program, pid),
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
            probes=probes,
            flow=flow,
            lock_sampling=lock_sampling,
        )

    launch = Launch(arguments, make_options)
    with LiveLine(
        lambda: launch.recorder_pid,
        "ends with the program",
        lambda: {launch.pid, *descendants(launch.pid)},
    ):
        status, done, trouble = launch.wait()
    if trouble is not None:
        print(f"sonde: {trouble}", file=sys.stderr)
    elif done is not None:
        if sys.stderr.isatty() or options.report is not None or options.open_:
            launch.release_signals()
        print_result(recording_of(done), instead=options.report)
        print(f"sonde: {closing_message(done)}", file=sys.stderr)
        follow_up(recording_of(done), options)
    end_like(status)


def check_follow_up(options: RecordingOptions) -> None:
    """Refuses before the program starts what would fail after it has ended."""
    from sonde.cli.commands.report import check_view

    options.check_output()
    if options.report is not None:
        check_view(options.report)
    if options.open_:
        from sonde.web.page import built

        built()


def follow_up(recording: str | None, options: RecordingOptions) -> None:
    """What --report and --open ask for. stdout is the program's: a view goes to stderr."""
    if recording is None:
        return
    try:
        if options.report is not None:
            from sonde.cli.commands.report import report

            with contextlib.redirect_stdout(sys.stderr):
                report([recording, options.report])
        if options.open_:
            from sonde.cli.commands.view import view

            view(recording)
    except SondeError as error:
        # The program has ended, and its exit code is ours.
        print(f"sonde: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        pass
