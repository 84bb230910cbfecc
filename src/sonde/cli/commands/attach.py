"""`sonde attach`: record processes that already run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.commands.run import check_follow_up, follow_up
from sonde.cli.shared.closing_message import closing_message, recording_of
from sonde.cli.shared.live_line import LiveLine
from sonde.cli.shared.live_options import For
from sonde.cli.shared.recording_options import RecordingOptions, recording_options
from sonde.cli.shared.result_lines import print_result
from sonde.cli.shared.sampler_options import check_sampler, check_stacks
from sonde.cli.shared.segment_push import Push, PushLabel, pushing
from sonde.cli.shared.segment_push import check as check_push
from sonde.cli.shared.selection_options import PidOption, length_of, process_id
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from sonde.record.targets.discovery import Discovery
    from sonde.record.targets.process import RunningProcess


@recording_options({"for_": "output", "push": "budget", "label": "budget"})
def attach(
    pid: Annotated[
        str | None, typer.Argument(metavar="[PID]", help="A running CPython or Java process.")
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="PID", help="Record a process and all its descendants, present and future."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Record your processes whose command line matches this glob or /regex/, present "
            "and future.",
        ),
    ] = None,
    given: PidOption = None,
    for_: For = None,
    push: Push = None,
    label: PushLabel = None,
    *,
    options: RecordingOptions,
) -> None:
    """Record running processes, without restarting them.

    sonde injects an agent into each process and detaches it at the end: on Ctrl-C, after --for
    TIME, or when the process exits. Injection stops one thread for less than a millisecond. All
    processes are recorded into one file.

    \b
    Example:
      sonde attach 4711 --for 10
      sonde attach 4711 -o slow.sonde --what cpu,locks,waits
      sonde attach --tree 4711
      sonde attach --name gunicorn --for 60
      sonde attach 4711 --mode continuous --rotate 60s --keep 10 --push s3://profiles/prod
    """
    from sonde.record.attach import Attach
    from sonde.record.recorder.options.options import Options
    from sonde.record.targets.hotspot import Jvm

    if pid is not None and given is not None:
        raise UsageError("PID and --pid cannot be combined; give one of them")
    pid = given if pid is None else pid
    if [pid, tree, name].count(None) != 2:
        raise UsageError("give exactly one of PID, --tree PID and --name PATTERN")
    seconds = length_of("--for", for_)
    mode, budget = options.storage()
    check_follow_up(options)
    check_push(push, label, options.mode)
    what, rate, calls = options.capture()
    probes = options.probes()
    flow = options.flow(what)
    lock_sampling = options.locks(what)
    sampler, children = check_sampler(options.sampler), not options.no_children
    if pid is None and sampler == "remote":
        raise UsageError(
            "--sampler remote records a single process; give a PID instead of --tree or --name"
        )
    if tree is not None and not children:
        raise UsageError("--tree includes child processes; leave out --no-children")
    processes, discovery = _chosen(pid, tree, name, children)
    first = processes[0]
    stacks = check_stacks(options.stacks)
    if stacks == "chained" and all(isinstance(p.runtime, Jvm) for p in processes):
        raise UsageError("--stacks chained applies to CPython only; use --stacks whole for Java")
    chosen = Options(
        path=options.path_for(first.program, int(tree or first.pid)),
        program=first.program,
        argv=first.argv,
        pid=int(tree or first.pid),
        what=what,
        rate=rate,
        sampler=sampler,
        stacks=stacks,
        children=children,
        calls=calls,
        probes=probes,
        flow=flow,
        lock_sampling=lock_sampling,
        attached=True,
        place=first.place(),
        mode=mode,
        budget=budget,
    )
    session = Attach(processes if discovery else first, chosen, discovery)
    with pushing(push, chosen.path, label):
        if sys.stderr.isatty() and seconds is None:
            which = f"process {pid}" if pid else "matching processes"
            print(f"sonde: recording {which}; press Ctrl-C to stop", file=sys.stderr)
        ends = "press Ctrl-C to stop" if seconds is None else f"stops after {seconds:g} s"
        with LiveLine(lambda: session.recorder_pid, ends) as live:
            done = session.wait(seconds, live.say)
        print_result(recording_of(done), instead=options.report)
        _report_end(done, pid)
    follow_up(recording_of(done), options)


def _chosen(
    pid: str | None, tree: str | None, name: str | None, children: bool
) -> tuple[list[RunningProcess], Discovery | None]:
    """The processes to begin with, at least one, and what looks for others."""
    from sonde.record.targets.discovery import Discovery, matcher
    from sonde.record.targets.process import RECORDED, inspect_process

    if pid is not None:
        return [inspect_process(process_id(pid))], None
    if tree is not None:
        root = process_id(tree)
        discovery = Discovery([root], descendants=True)
        found = discovery.look(())
        if not found:
            _refuse(discovery)
            inspect_process(root)  # says what it is
            raise SondeError(f"process {root} exited")
        return found, discovery
    assert name is not None
    discovery = Discovery([], matches=matcher(name), children=children, descendants=True)
    found = discovery.look(())
    if not found:
        _refuse(discovery)
        many = len(discovery.members)
        raise SondeError(
            f"none of your processes matches {name}"
            if not many
            else f"the process that matches {name} is not {RECORDED}"
            if many == 1
            else f"none of the {many} processes that match {name} is {RECORDED}"
        )
    return found, discovery


def _refuse(discovery: Discovery) -> None:
    """No process can be attached to: reports the reason of one that is supported."""
    for why in discovery.refused().values():
        raise SondeError(why)


def _report_end(done: dict[str, Any], pid: str | None) -> None:
    if done.get("note") == "the target replaced its program":
        print(f"sonde: process {pid} now runs another program", file=sys.stderr)
    if left := done.get("left_behind"):
        who = f"process {pid} has" if pid and left == 1 else f"{left} processes have"
        print(
            f"sonde: {who} not released the GIL yet; the agent detaches once it is released",
            file=sys.stderr,
        )
    for who, why in done["done"].get("not_entered", {}).items():
        said = why if who in why else f"could not attach to process {who}: {why}"
        print(f"sonde: {said}", file=sys.stderr)
    many = done.get("processes", 1)
    of = f" of process {pid}" if pid and many == 1 else f" of {many} processes"
    quiet = "the processes used hardly any CPU time"
    if pid:
        quiet = "the process used hardly any CPU time"
    unseen = "the recording ended before sonde could attach to a process"
    print(f"sonde: {closing_message(done, of, quiet, unseen)}", file=sys.stderr)
