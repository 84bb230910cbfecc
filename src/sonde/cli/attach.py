"""`sonde attach`: record a process that already runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sonde.cli._last_words import last_words
from sonde.cli._recording import (
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
    Seconds,
    What,
)
from sonde.cli._sampler import check_sampler
from sonde.cli._select import seconds as number
from sonde.cli._select import whole
from sonde.errors import UsageError


def attach(
    pid: Annotated[str, typer.Argument(metavar="PID", help="A running CPython process.")],
    output: Output = None,
    seconds: Annotated[
        float | None,
        typer.Option("--for", metavar="SECONDS", help="How long; until Ctrl-C if not given."),
    ] = None,
    rate: Rate = 1000,
    what: What = "cpu,locks",
    sampler: Sampler = "auto",
    mode: ModeName = "normal",
    limit: Limit = None,
    rotate: Rotate = None,
    keep: Keep = None,
    seconds_kept: Seconds = None,
    memory: Memory = None,
    dump_when: DumpWhen = None,
    dump_every: DumpEvery = None,
    budget: Budget = None,
    no_children: Annotated[
        bool, typer.Option("--no-children", help="Do not follow processes the target forks.")
    ] = False,
) -> None:
    """Record a process that already runs, and leave it as it was.

    The process needs no preparation: the agent is put into it while it runs and taken out at the
    end, which Ctrl-C, --for or its own exit brings. One of its threads stands still for less than
    a millisecond meanwhile.

    \b
    Example:
      sonde attach 4711 --for 10
      sonde attach 4711 -o slow.sonde --what cpu,locks,waits
    """
    from sonde.record.attach import Attach
    from sonde.record.handle import Options, check_rate, parse_what
    from sonde.record.modes import parse_mode
    from sonde.record.process import look_at
    from sonde.record.quantities import parse_share

    if not pid.isdecimal() or int(pid) == 0:
        raise UsageError(f"{pid!r} is no process id; it is a number, as ps shows it")
    if seconds is not None and not 0 < seconds < 1e8:
        raise UsageError(f"--for takes a number of seconds above 0, not {seconds:g}")
    share = None if budget is None else parse_share("--budget", budget)
    kept = parse_mode(
        mode,
        limit=limit,
        rotate=rotate,
        keep=whole("--keep", keep, "a number of files"),
        seconds=number("--seconds", seconds_kept),
        memory=memory,
        dump_when=dump_when,
        dump_every=number("--dump-every", dump_every),
    )
    kinds, checked, sampled_by = parse_what(what), check_rate(rate), check_sampler(sampler)
    process = look_at(int(pid))
    options = Options(
        path=output or f"sonde-{process.program}-{pid}.sonde",
        program=process.program,
        argv=process.argv,
        pid=process.pid,
        what=kinds,
        rate=checked,
        sampler=sampled_by,
        children=not no_children,
        attached=True,
        place=process.place(),
        mode=kept,
        budget=share,
    )
    session = Attach(process, options)
    if sys.stderr.isatty() and seconds is None:
        print(f"sonde: recording process {pid}; Ctrl-C ends it", file=sys.stderr)
    done = session.wait(seconds, lambda words: print(f"sonde: {words}", file=sys.stderr))
    if done.get("note") == "the agent left the target":
        print(f"sonde: process {pid} now runs another program", file=sys.stderr)
    if done.get("left_behind"):
        print(
            f"sonde: process {pid} has not let its GIL go yet; the agent leaves it when it does",
            file=sys.stderr,
        )
    quiet = "the process used hardly any CPU time meanwhile"
    print(f"sonde: {last_words(done, f' of process {pid}', quiet)}", file=sys.stderr)
