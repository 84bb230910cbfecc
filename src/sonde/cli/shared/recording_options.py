"""The options of every verb that records."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from sonde.cli.shared.output_files import check_new
from sonde.cli.shared.selection_options import seconds, whole
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.record.recorder.options.flow_options import FlowOptions
    from sonde.record.recorder.options.lock_options import LockSampling
    from sonde.record.recorder.options.modes import Mode
    from sonde.record.recorder.options.options import CallOptions
    from sonde.record.recorder.options.probe_text import Probe

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the recording to FILE [default: sonde-PROGRAM-PID.sonde]",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")]
Shown = Annotated[
    str | None,
    typer.Option("--report", metavar="VIEW", help="Show this view at the end, on stderr."),
]
Opened = Annotated[
    bool, typer.Option("--open", help="Open the recording in the web UI at the end.")
]
Rate = Annotated[
    int,
    typer.Option(
        "-r",
        "--rate",
        metavar="HZ",
        help="Take HZ samples per second of each thread's CPU time",
    ),
]
What = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Record these kinds: cpu, locks, waits, threads, objects, calls, flow, probes, tasks, "
        "lock-activity, event:NAME[@PERIOD]; +waits adds to the default, -locks removes from it",
    ),
]
Ticks = Annotated[
    int | None,
    typer.Option(
        metavar="HZ", help="calls: open HZ sampling windows per second of CPU time [default: 100]"
    ),
]
Stride = Annotated[
    int | None,
    typer.Option(metavar="N", help="calls: count every Nth call of a window [default: 4]"),
]
Samples = Annotated[
    int | None, typer.Option(metavar="N", help="calls: count N calls per window [default: 8]")
]
CallsIn = Annotated[
    list[str] | None,
    typer.Option(
        "--calls-in",
        metavar="PACKAGE|CLASS",
        help="calls: in a Java program count calls of methods in this package or class, repeatable "
        "[default: all classes that are not part of the JDK]",
    ),
]
FlowIn = Annotated[
    str | None,
    typer.Option(
        "--flow-in",
        metavar="MODULE|FUNCTION|SPAN|PACKAGE|CLASS|METHOD",
        help="flow: record functions of this module only, or what happens in this function or span",
    ),
]
FlowMetric = Annotated[
    str | None,
    typer.Option(
        "--flow-metric",
        metavar="METRIC",
        help="flow: measure cpu (time), wall (time), instructions (of bytecode), page-faults or "
        "context-switches [default: cpu]",
    ),
]
FlowC = Annotated[bool, typer.Option("--flow-c", help="flow: record calls of C functions, too.")]
FlowEvents = Annotated[
    bool, typer.Option("--flow-events", help="flow: record the list of all entries and exits, too.")
]
LockEvery = Annotated[
    int | None,
    typer.Option(
        "--lock-activity-every",
        metavar="N",
        help="lock-activity: sample one of N acquisitions of locks [default: 1000]",
    ),
]
LockIn = Annotated[
    str | None,
    typer.Option(
        "--lock-activity-in",
        metavar="PACKAGE|CLASS|METHOD",
        help="lock-activity: sample what these methods of a Java program acquire",
    ),
]
Stacks = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Record stacks as: whole; chained (each sample has a function and its caller only, "
        "which costs less for deep stacks, and the call tree is reconstructed); checked (whole, "
        "and each incremental walk is compared with a full one)",
    ),
]
Sampler = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Sample by: perf, perf-user, reader, cross-core, remote, safepoint, or cpu-timer for "
        "Java; auto selects the best",
    ),
]

ModeName = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="Store the recording as: normal (one file), continuous (consecutive segments), wrap "
        "(the last seconds in memory, written on demand)",
    ),
]
Limit = Annotated[
    str | None,
    typer.Option("--limit", metavar="SIZE", help="normal: stop when the file reaches SIZE."),
]
Rotate = Annotated[
    list[str] | None,
    typer.Option(
        "--rotate",
        metavar="SIZE|TIME",
        help="continuous: start a segment at this size (100MB) or age (10m); may be given twice.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="N", help="continuous, wrap: keep only the last N files."),
]
Seconds = Annotated[
    str | None,
    typer.Option("--seconds", metavar="N", help="wrap: keep the last N seconds [default: 30]"),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="wrap: memory limit [default: 64MiB]"),
]
DumpWhen = Annotated[
    list[str] | None,
    typer.Option(
        "--dump-when",
        metavar="CONDITION",
        help="wrap: write a file on CONDITION, such as 'lock wait > 200ms' or 'gil wait > 50ms'.",
    ),
]
DumpEvery = Annotated[
    str | None,
    typer.Option(
        "--dump-every",
        metavar="N",
        help="wrap: write at most one such file every N seconds [default: that of --seconds]",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="PERCENT",
        help="Limit overhead to PERCENT of one core by lowering the sampling rate.",
    ),
]
ProbeTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        metavar="PROBE",
        help="Record a value each time a line is reached: 'FILE:LINE EXPRESSION [every N]', such "
        "as 'orders.py:120 len(batch)'; may be given several times.",
    ),
]
ProbeEvery = Annotated[
    int | None,
    typer.Option("--probe-every", metavar="N", help="Read probes every Nth time only [default: 1]"),
]
NoChildren = Annotated[
    bool, typer.Option("--no-children", help="Do not record processes that the target starts.")
]


class RecordingOptions(NamedTuple):
    """The options of `run` and `attach`, in the order of their help."""

    output: Output = None
    force: Force = False
    report: Shown = None
    open_: Opened = False
    rate: Rate = 1000
    what: What = "cpu,locks"
    sampler: Sampler = "auto"
    stacks: Stacks = "whole"
    mode: ModeName = "normal"
    limit: Limit = None
    rotate: Rotate = None
    keep: Keep = None
    seconds_kept: Seconds = None
    memory: Memory = None
    dump_when: DumpWhen = None
    dump_every: DumpEvery = None
    budget: Budget = None
    ticks: Ticks = None
    stride: Stride = None
    samples: Samples = None
    calls_in: CallsIn = None
    probe: ProbeTexts = None
    probe_every: ProbeEvery = None
    flow_in: FlowIn = None
    flow_metric: FlowMetric = None
    flow_c: FlowC = False
    flow_events: FlowEvents = False
    lock_every: LockEvery = None
    lock_in: LockIn = None
    no_children: NoChildren = False

    def path_for(self, program: str, pid: int) -> str:
        """Where the recording goes; a name that sonde chooses itself is that of no file."""
        if self.output is not None:
            return self.output
        name = f"sonde-{program}-{pid}"
        # In containers programs have the same PID again and again.
        tries = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
        return next(f"{found}.sonde" for found in tries if not os.path.exists(f"{found}.sonde"))

    def check_output(self) -> None:
        """Refuses to write over a file before anything begins."""
        if self.output is None:
            if self.force:
                raise UsageError("--force needs -o FILE")
            return
        # Segments are numbered files, and follow those that are there.
        if self.mode != "continuous":
            check_new(self.output, self.force)

    def storage(self) -> tuple[Mode, float | None]:
        """How the recording is stored, and the share of a core that it may take."""
        from sonde.record.recorder.options.modes import parse_mode
        from sonde.units import parse_share

        share = None if self.budget is None else parse_share("--budget", self.budget)
        mode = parse_mode(
            self.mode,
            limit=self.limit,
            rotate=self.rotate,
            keep=whole("--keep", self.keep, "a number of files"),
            seconds=seconds("--seconds", self.seconds_kept),
            memory=self.memory,
            dump_when=self.dump_when,
            dump_every=seconds("--dump-every", self.dump_every),
        )
        return mode, share

    def capture(self) -> tuple[list[str], int, CallOptions]:
        """What is recorded: kinds, the rate, and how calls are counted."""
        from sonde.record.recorder.options.options import (
            check_calls,
            check_rate,
            parse_what,
        )

        kinds = parse_what(self.what)
        if self.probe and "probes" not in kinds:
            kinds.append("probes")
        rate, calls = check_calls(
            kinds,
            check_rate(self.rate),
            self.stride,
            self.samples,
            self.ticks,
            self.calls_in or (),
        )
        return kinds, rate, calls

    def probes(self) -> list[Probe]:
        """Those that are set from the beginning."""
        from sonde.record.recorder.options.probe_text import check_every, parse_probe
        from sonde.record.shm.probe_area import MAX_PROBES

        if self.probe_every is not None:
            if not self.probe:
                raise UsageError("--probe-every needs --probe")
            check_every(self.probe_every)
        if len(self.probe or []) > MAX_PROBES:
            raise UsageError(f"--probe can be given at most {MAX_PROBES} times")
        return [parse_probe(text, self.probe_every) for text in self.probe or []]

    def flow(self, kinds: list[str]) -> FlowOptions:
        """What of the call flow is recorded."""
        from sonde.record.recorder.options.flow_options import check_flow

        return check_flow(
            kinds, self.flow_in, self.flow_metric, native=self.flow_c, events=self.flow_events
        )

    def locks(self, kinds: list[str]) -> LockSampling:
        """Which acquisitions of locks are sampled."""
        from sonde.record.recorder.options.lock_options import check_lock_sampling

        return check_lock_sampling(kinds, self.lock_every, self.lock_in)


def option_names() -> list[str]:
    """As they are typed."""
    hints = get_type_hints(RecordingOptions, include_extras=True)
    found: list[str] = []
    for name in RecordingOptions._fields:
        (option,) = hints[name].__metadata__
        found += option.param_decls or [f"--{name.replace('_', '-')}"]
    return found


def recording_options(
    after: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a verb the options of `RecordingOptions`, which it gets as one argument `options`.

    Its own parameters come before them; `after` names those that come after one of them in help.
    """
    behind = after or {}

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(verb, eval_str=True).parameters)
        del own["options"]
        shown = [parameter for name, parameter in own.items() if name not in behind]
        hints = get_type_hints(RecordingOptions, include_extras=True)
        for name in RecordingOptions._fields:
            default = RecordingOptions._field_defaults[name]
            shown.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=default,
                    annotation=hints[name],
                )
            )
            shown += [own[mine] for mine, before in behind.items() if before == name]

        def call(**given: Any) -> None:
            options = RecordingOptions(
                **{name: given.pop(name) for name in RecordingOptions._fields}
            )
            verb(**given, options=options)

        call.__name__, call.__doc__ = verb.__name__, verb.__doc__
        call.__module__ = verb.__module__
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return call

    return decorate
